// Package submit holds what is inside a blocked.Program: how tasks are submitted, what matrices are as
// their data, what they share, and the bare loops of level 3 that factorizations use as well. It is
// the door between package blocked and the packages of algorithms below it.
package submit
