// Package op has the operations on tiles, a file each: the parameter, which is the contract, what
// the operands must be, the amount of work, and the functions of the versions. [NewTable] makes
// the [kernels.Table] of this build of them. Files, from the bottom up:
//
//	args.go check.go      operands and parameters of a call
//	help.go packing.go    what the workers of a call and the tasks of an operand share
//	panel.go game.go      LU: tiles on top of each other; a game of rows
//	cuda_*.go             devices: a call's queue, panels and block reflectors there
//	definition.go         what an op says of itself, and the implementations of its routines
//	gemm.go … lasym.go    the ops
//	list.go table.go      all of them, and the table
//
// The arithmetic lives in kernels/cpu (portable Go; assembly; OpenBLAS and MKL behind
// their build tags). This package checks operands, lends scratch memory and gives the
// routines the shape that the runtime calls. With kernels/cpu it is the only place
// where row-major meets column-major. The versions "cuda" enqueue routines of a device
// of kernels/cuda: products, solves, Cholesky, QR, and what LU does beside its panel,
// which stays on the CPU.
package op
