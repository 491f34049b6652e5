// Package submit is the inside of a blocked.Program, shared by package blocked and the packages of
// algorithms below it, which get it by [Of]. Users of blocked cannot. It submits tasks, makes data of matrices, checks that matrices do not overlap,
// and holds packed operands that tasks share. It also has the loops of level 3 that factorizations use.
package submit
