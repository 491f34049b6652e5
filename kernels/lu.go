package kernels

// The ops of the tile LU factorization.

// Pivots is the row interchanges of a panel of rows, a datum of its own beside
// the tiles: row i was exchanged with row Rows[i] ≥ i, for i = 0, 1, …, both
// counted from the top of the panel. It is LAPACK's ipiv, from 0.
type Pivots struct {
	Rows []int
	// Info is 0, or the column, from 1, of the first pivot that is exactly
	// zero: column j of U then has a zero on its diagonal, and the
	// factorization is complete nevertheless.
	Info int
}

// Getrf is the parameter of op "getrf" (LAPACK xGETRF): the LU factorization
// with partial pivoting of a panel, a column of tiles on top of each other that
// make up an m×n matrix,
//
//	A = P·L·U.
//
// Operands: the tiles from top to bottom (inout), at least one, all of n
// columns; last a *Pivots (out), whose Rows get length min(m, n). U overwrites
// the upper triangle, L what is below the diagonal; its ones are not stored.
// The top tile has at least min(m, n) rows. Of elements of equal magnitude the
// uppermost becomes the pivot, as in LAPACK; a NaN only where it is on the
// diagonal already. A zero pivot is no error: see Pivots.Info, which is Offset
// plus the column in the panel.
type Getrf struct {
	Offset int // global index of the panel's first column
}

// Getrfnp is the parameter of op "getrfnp": the LU factorization without
// exchanges of a panel of which the rows are in their order already,
//
//	A = L·U.
//
// Operands: as of op "getrf", but the Rows of the *Pivots (out) get length 0. A zero pivot
// leaves the column below it as it is.
type Getrfnp struct {
	Offset int // global index of the panel's first column
}

// Laswp is the parameter of op "laswp" (LAPACK xLASWP): the interchanges of a
// panel applied to another column of tiles, B = Pᵀ·B (what getrf did to the
// rows of its panel), or B = P·B in reverse order if Inverse.
//
// Operands: a *Pivots (in), then the tiles from top to bottom (inout), at least
// one, all of the same number of columns, with the same rows as the panel's.
type Laswp struct {
	Inverse bool
}

// Lapmt is the parameter of op "lapmt" (after LAPACK xLAPMT): the interchanges
// of a panel applied to the columns of a row of tiles, B = B·P, or B = B·Pᵀ if
// Inverse, for the P of op "getrf".
//
// Operands: a *Pivots (in), then the tiles from left to right (inout), at least
// one, all of the same number of rows, and of the same number of columns but for
// the last, which may have fewer. Column i is exchanged with column Rows[i] of all of them together.
type Lapmt struct {
	Inverse bool
}
