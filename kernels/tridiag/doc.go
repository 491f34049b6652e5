// Package tridiag computes eigenvalues and eigenvectors of symmetric tridiagonal matrices T:
// the diagonal d(0) … d(n−1), and e(0) … e(n−2) beside it.
//
// [Steqr] is the implicit QL iteration, for small n. [Sterf] is a QL iteration for eigenvalues alone. [Stevx] finds few
// eigenvectors by inverse iteration. [Stedc] is divide and conquer:
//
//	T = ⎡T1   ⎤ + ρ·v·vᵀ           tear: v = (0 … 0 1 ±1 0 … 0)
//	    ⎣   T2⎦
//	T1, T2 = Qᵀ·D·Q                solve both halves in the same way
//	D + ρ·z·zᵀ, z = Q·v            take out the eigenpairs that it has already
//	1 + ρ·Σ z(i)²/(d(i)−λ) = 0     the secular equation
//	S, with rows z(i)/(d(i)−λ)     the eigenvectors
//	S·Q                            most of the work, as products of matrices: [Merge.Run]
//
// Vectors are rows everywhere: row i of the n×n matrix Q is the eigenvector of the i-th
// eigenvalue, so that T = Qᵀ·diag(d)·Q. So a rotation of two vectors, or a copy of one, goes through
// contiguous memory.
//
// References: Cuppen, A divide and conquer method for the symmetric tridiagonal eigenproblem (1981); Gu and
// Eisenstat, A divide-and-conquer algorithm for the symmetric tridiagonal eigenproblem (1995);
// Li, Solving secular equations stably and efficiently (LAWN 89, 1993). The routines of LAPACK
// with the same purpose are xSTEQR, xSTEDC and xLAED1 to xLAED6.
package tridiag
