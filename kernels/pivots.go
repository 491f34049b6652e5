package kernels

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

// Resize makes room for k interchanges, whose rows are undefined.
func (v *Pivots) Resize(k int) {
	if cap(v.Rows) < k {
		v.Rows = make([]int, k)
	}
	v.Rows = v.Rows[:k]
}
