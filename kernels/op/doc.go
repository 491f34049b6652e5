// Package op holds the operations on tiles, one file each: the parameter, which is the contract;
// checks of the operands; the amount of work; and the functions of the versions. [NewTable] makes
// the [kernels.Table] of this build. Files, from the bottom up:
//
//	args.go check.go      operands and parameters of a call
//	help.go packing.go    work that the workers of a call share; packed operands that tasks share
//	panel.go game.go      LU: tiles on top of each other; one game of a tournament
//	cuda_*.go             devices: a call's queue, panels and block reflectors there
//	definition.go         the definition of an op, and the implementations of its routines
//	gemm.go … lasym.go    the ops
//	list.go table.go      all of them, and the table
//
// Package kernels/cpu does the arithmetic (portable Go; assembly; OpenBLAS and MKL behind their
// build tags). This package checks operands, lends scratch memory and adapts the routines to the
// calls of the runtime. With kernels/cpu it is the only place where row-major meets column-major.
//
// A version panics if its call does not fit: with [kernels.ErrParams] for a parameter of another op,
// with [kernels.ErrArgs] for operands of the wrong number or type, and with [kernels.ErrShape] for
// operands whose shapes do not fit together. A version for devices panics with [kernels.ErrDevice] on
// a worker without a device.
//
// The versions "cuda" enqueue routines of a device of kernels/cuda: products, solves, Cholesky,
// QR, and the parts of LU other than its panel, which stays on the CPU.
package op
