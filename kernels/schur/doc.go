// Package schur computes eigenvalues and eigenvectors of upper Hessenberg matrices H, by way of the Schur form
//
//	H = Z·T·Zᵀ,
//
// where Z is orthogonal and T upper triangular, but for blocks of order 2 on its diagonal: each has a pair of complex
// eigenvalues, equal elements on its diagonal, and off it two of different signs.
//
// [Iteration.Run] is the QR iteration. In each turn it works on the active block, which has not come apart yet:
//
//	aggressive early deflation ([Iteration.deflate])     takes eigenvalues off the end of the block, and the others of
//	                                                     its window as shifts
//	a sweep with many shifts ([Iteration.sweep])         chases a chain of small bulges down the diagonal
//
// Both compute within a window on the diagonal, which fits the cache, collect what they do there in an orthogonal matrix,
// and multiply the rest of H and Z by that: most of the work is products of matrices. Small blocks, windows among them, are
// for the iteration with two shifts ([Iteration.small]).
//
// [Vectors] solves for the eigenvectors of T and multiplies them by Z. [Balance] permutes and scales a matrix
// before its reduction.
//
// Z is stored as its transpose everywhere: Schur vectors and eigenvectors are rows.
//
// References: Braman, Byers and Mathias, The multishift QR algorithm, parts I and II (2002); Byers, LAPACK 3.1 xHSEQR:
// tuning and implementation notes (LAWN 187, 2007). The routines of LAPACK with the same purpose are xHSEQR, xLAQR0 to
// xLAQR5, xLAHQR, xTREXC, xTREVC3, and xGEBAL.
package schur
