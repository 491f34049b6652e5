// Package matcalls compares calls of gonum's mat with la/dropin behind them, and
// with what else can be: gonum alone, and gonum's netlib with the C library. They
// take turns in one process, on the same matrices.
package matcalls
