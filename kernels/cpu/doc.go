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
// Row-major meets column-major here and nowhere else: blas_netlib.go flips uplo
// for potrf, and CBLAS swaps operands without touching the data.
//
// Assembly is in a folder for each instruction set, avx2, avx512 and neon: a table of
// kernels (kernels/cpu/isa.Table) that [Native] builds the routines around. Where an entry
// is nil the portable code is used.
//
// The files from the bottom up:
//
//	check, routines, take   errors of misuse; the sets of routines; scratch memory in parts
//	round, operand          sizes of blocks; a matrix, transposed or not
//	strip, leaf             calls of the micro-kernels of an instruction set, of the
//	                        kernels for diagonal blocks of triangles
//	micro, packed, pack     the portable micro-kernel; Packed; how operands are packed
//	strips, large, gemm     products in the caches and beyond; gemm
//	level1, asum, gemv, ger, symv, trsv   what memory bounds: vectors, and matrices by vectors
//	syrk, triangular, trsm*, trmm, potrf*
//	prepacked, shared       operands packed before; several cores
//	lu, getrf*, laswp       LU of a panel in blocks of rows
//	panels, reflectors, reflect, larfg, larft, larfb*, qr, qr_prepacked, geqrt, tpqrt
//	                        QR by block reflectors
//	tallqr                  QR of a tall matrix by a tree of such panels (TSQR)
//	band, pbtrf, gbtrf      band matrices, by the routines of dense ones
//	small, lanes, getf2, geqr2, sytd2, gebd2, lasr  small matrices, one or one in each lane of vectors
//	condensed               what reductions by a crew share: sytrd, gebrd, gehrd, ormbr, and the
//	                        factorizations with pivots from anywhere: sytrf, geqp3
//	rates                   what a crew does in a second
//	sygst, secular          generalized eigenproblems; secular equations
//	sy2sb, chase, sb2st     the reduction by way of a band: to the band, and from it to tridiagonal form
//	ge2tb, tb2bd            the same for singular values
//	sweep*, orm_chase       the reflectors of a chase, applied
//	native                  Packed around the kernels of a table
//	blas*, *_netlib, *_none, threads*, cgo, nocgo
//	                        the C library, if the build has one
package cpu
