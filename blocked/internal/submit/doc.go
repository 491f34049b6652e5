// Package submit is the inside of a blocked.Program. Package blocked and the packages of algorithms below it get it by
// [Of]; programs that use blocked cannot. It submits tasks, makes the data of matrices, checks that matrices do not
// overlap, and keeps packed operands that tasks share. It also has the loops of BLAS level 3 that factorizations use.
//
// [Tasks] is the type to start at. Almost all else is a method of it, or an argument of one.
//
//	tasks      Tasks, and how it submits a task
//	data       matrices and other values as data of the job, made once; operands of a task
//	overlap    matrices in the caller's memory must not overlap if one is written
//	packing    packed operands that several tasks share
//	level3     Trsm and Syrk for factorizations
//	door       how other packages get the Tasks of a blocked.Program
package submit
