// Package matcalls compares calls of gonum's mat that use la/dropin with calls that use gonum alone, or gonum's
// netlib with the C library. The implementations take turns in one process, on the same matrices.
package matcalls
