// Package submit is the inside of a blocked.Program. Package blocked and the packages of algorithms below it get it by
// [Of]; programs that use blocked cannot. It submits tasks, makes the data of matrices, checks that matrices do not
// overlap, and keeps packed operands that tasks share. It also has the loops of BLAS level 3 that factorizations use.
package submit
