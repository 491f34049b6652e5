// Package bidiag computes singular values and vectors of upper bidiagonal matrices B: the diagonal
// d(0) … d(n−1), and e above it.
//
// [Bdsqr] is the implicit zero-shift QR iteration, for small n and for small singular values that must be
// accurate. For values without vectors it uses the dqds iteration ([dqds]). [Bdsdc] is divide and conquer:
//
//	    ⎡B1       ⎤
//	B = ⎢α·eᵀ β·fᵀ⎥                       tear out a row; e is the last unit vector and f the first one
//	    ⎣       B2⎦
//	B1 = U1ᵀ·(D1 0)·V1, B2 = U2ᵀ·D2·V2    solve both parts in the same way
//	    ⎡z0 z1 z2⎤
//	M = ⎢   D1   ⎥                        the problem that is left; z is α and β times columns of V1 and V2
//	    ⎣      D2⎦
//	                                      take out the rows that are singular values already ([merge.deflate])
//	1 + Σ z(i)²/(d(i)²−σ²) = 0            the secular equation ([tridiag.Merge.Run])
//	z(i)/(d(i)²−σ²), d(i)·z(i)/(d(i)²−σ²) right and left vectors of M, not yet scaled ([merge.vectors])
//	                                      multiply them by those of B1 and B2: most of the work
//
// Vectors are rows everywhere: B = Uᵀ·diag(σ)·V. B1 has one column more than it has rows, and so has B2 unless it
// contains the last row of B. The last row of V1 or V2 then is a vector of the part's null space.
//
// References: Gu and Eisenstat, A divide-and-conquer algorithm for the bidiagonal SVD (1995); Demmel and Kahan,
// Accurate singular values of bidiagonal matrices (1990). The routines of LAPACK with the same purpose are
// xBDSQR, xBDSDC and xLASD0 to xLASD8.
package bidiag
