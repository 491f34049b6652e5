// Package plan predicts how long a program of package la takes on a machine that need not exist.
//
// The program, its tasks and the scheduling policies are the real ones. Time is virtual: see
// package exec/sim. The package is not part of la because it imports the modules for several
// nodes.
package plan
