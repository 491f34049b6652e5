package kernels

import "gonum.org/v1/gonum/blas"

// Plrnt is the parameter of op "plrnt" (PLASMA's core_plrnt and core_plgsy): a block of a
// random matrix, the same on every node, in tiles of any size,
//
//	a(i, j) = u(Seed, i, j) + (Bump if i = j),  -½ ≤ u < ½,
//
// where the first element of the tile is a(Row, Col). With Symmetric, u(Seed, i, j) =
// u(Seed, j, i); a Bump of more than half the order makes such a matrix positive definite,
// since it is then diagonally dominant.
//
// Operand: A (out).
type Plrnt struct {
	Seed      uint64
	Row, Col  int
	Bump      float64
	Symmetric bool
}

// Asum is the parameter of op "asum" (PLASMA's core_asum): the sums of magnitudes of the
// columns, s(0, j) = Σᵢ |a(i, j)|, and of the rows, s(1, i) = Σⱼ |a(i, j)|, of a tile, and
// the largest magnitude, s(2, 0), in all of it (Uplo = All) or in its Uplo triangle. With Symmetric the tile, of which the
// Uplo triangle is stored, is symmetric, and both are the sums of all of it. A NaN or an
// infinity makes each sum NaN or infinite that it belongs to, and the largest magnitude infinite or not less than that of
// the finite ones.
//
// Operands: A (in, m×n), S (out, 3 rows, max(m, n) columns or more; the rest is 0).
type Asum struct {
	Uplo      blas.Uplo
	Symmetric bool
}
