package kernels

import "gonum.org/v1/gonum/blas"

// The ops of the tile QR factorization. Every orthogonal factor is a product of
// block reflectors I − V·T·Vᵀ of IB columns each, T upper triangular. A tile of T is
// min(IB, k)×k for k reflectors, or larger; the triangle of the block that
// begins at column j occupies its columns j to j+min(IB, k−j)−1 from row 0 on,
// as LAPACK's xGEQRT and xTPQRT store it. What is below the triangles is
// neither read nor written.
//
// The factorizations scale where squares would over- or underflow. A column of
// which nothing is left below the diagonal gets the reflector I, with T's
// element zero. NaN and infinities propagate.

// Trmm is the parameter of op "trmm" (BLAS xTRMM):
//
//	B = Alpha·op(A)·B  (Side = Left,  A m×m)
//	B = Alpha·B·op(A)  (Side = Right, A n×n)
//
// Operands: A (in), B (inout, m×n). Only the Uplo triangle of A is read, and
// not its diagonal if Diag is Unit. A NaN or an infinity in B stays in its
// column (row, from the right), where it may make NaN even of elements that the
// triangle keeps it from: parts of that are multiplied as squares. With Alpha = 0 neither A
// nor B is read, and both may hold NaN; B becomes 0.
type Trmm struct {
	Side  blas.Side
	Uplo  blas.Uplo
	Trans blas.Transpose
	Diag  blas.Diag
	Alpha float64
}

// Geqrt is the parameter of op "geqrt" (LAPACK xGEQRT): the QR factorization of
// an m×n tile,
//
//	A = Q·R.
//
// Operands: A (inout), T (out, for min(m, n) reflectors). R overwrites the upper triangle
// of A, the columns of V what is below the diagonal; the ones on V's diagonal
// are not stored.
type Geqrt struct {
	IB  int // columns of a block reflector, at least 1
	Row int // first row of the tile that takes part; those above are left alone
}

// Unmqr is the parameter of op "unmqr" (LAPACK xGEMQRT): the orthogonal factor
// of op "geqrt" applied to a tile,
//
//	C = op(Q)·C (Side = Left, V m×k) or C = C·op(Q) (Side = Right, V n×k).
//
// Operands: V (in), T (in), C (inout, m×n). The tile of V may have more columns
// than rows; k is the smaller number. Of V only what is below the diagonal is
// read. What tasks share ([Packings]) is V and T.
type Unmqr struct {
	Side  blas.Side
	Trans blas.Transpose
	IB    int
	// Row is the first row of V's tile that takes part, and of C's (Left) or
	// its first column (Right); those before are left alone.
	Row int
}

// Tsqrt is the parameter of op "tsqrt" (LAPACK xTPQRT with L = 0): the QR
// factorization of an upper triangle R (n×n) on top of an m×n tile A,
//
//	⎡R⎤       ⎡R'⎤
//	⎣A⎦ = Q · ⎣0 ⎦.
//
// Operands: R (inout), A (inout), T (out, for n reflectors). R' overwrites the
// first n rows of R's tile in the upper triangle — what is below is neither
// read nor written, so that it may hold another V — and V overwrites A.
type Tsqrt struct {
	IB int
}

// Tsmqr is the parameter of op "tsmqr" (LAPACK xTPMQRT with L = 0): the
// orthogonal factor of op "tsqrt" applied to two tiles,
//
//	⎡C1⎤         ⎡C1⎤
//	⎣C2⎦ = op(Q)·⎣C2⎦ (Side = Left) or [C1 C2] = [C1 C2]·op(Q) (Side = Right).
//
// Operands: V (in), T (in), C1 (inout), C2 (inout). With k the number of
// reflectors (columns of V), C1 has at least k rows (Left) or columns (Right),
// of which the first k take part, and C2 as many as V has rows. What tasks share
// ([Packings]) is V and T.
type Tsmqr struct {
	Side  blas.Side
	Trans blas.Transpose
	IB    int
}

// Ttqrt is the parameter of op "ttqrt" (LAPACK xTPQRT with L = min(m, n)): as
// op "tsqrt", for an m×n tile A of which only the upper triangle (trapezoid, if
// m < n) is read and written; below the diagonal it may hold another V.
type Ttqrt struct {
	IB int
}

// Ttmqr is the parameter of op "ttmqr" (LAPACK xTPMQRT with L = min(m, n)): as
// op "tsmqr", for the orthogonal factor of op "ttqrt". C2 has at least
// min(m, n) rows (Left) or columns (Right) for an m×n V, of which those take
// part. What tasks share ([Packings]) is V and T.
type Ttmqr struct {
	Side  blas.Side
	Trans blas.Transpose
	IB    int
}
