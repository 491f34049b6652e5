// Package builtin makes the [kernels.Table] of this build: for each op of package
// kernels its amount of work and its versions.
//
// The arithmetic lives in kernels/cpu (portable Go; assembly; OpenBLAS and MKL behind
// their build tags). This package checks operands, lends scratch memory and gives the
// routines the shape that the runtime calls. With kernels/cpu it is the only place
// where row-major meets column-major. The versions "cuda" enqueue routines of a device
// of kernels/cuda: products, solves, Cholesky, QR, and what LU does beside its panel,
// which stays on the CPU.
package builtin
