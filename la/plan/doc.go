// Package plan says how long a program of package la takes on a machine that need not be there.
//
// The program is the real one, and so are its tasks and the policies that hand them out. Time is
// virtual: see package exec/sim. Programs that import it have the modules that several nodes
// need; that is why it is no part of la.
package plan
