// Package cpu holds the level-3 routines of one core — gemm, syrk, trsm,
// potrf — on raw row-major slices, in float32 and float64.
//
// Two implementations of [Routines] exist. [Packed] is a GEMM in the manner
// of Goto: operands are packed into panels and one small micro-kernel does
// the arithmetic; syrk, trsm and potrf are blocked down to it. [Portable] is
// Packed around a micro-kernel in plain Go. [BLAS] is the C library that the
// build tag openblas or mkl links in. [LU] and [QR] are put
// together from any of them.
//
// The argument lists are those of gonum's BLAS with one more at the end, the
// scratch memory that the caller lends; nothing is allocated by a call and no
// goroutine is started. The same call gives the same bits every time.
//
// Row-major meets column-major here and nowhere else: netlib.go flips uplo
// for potrf, and CBLAS swaps operands without touching the data.
package cpu
