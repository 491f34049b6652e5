package tiles

// ScaleColumns computes, for Full matrices of one shape and tile size, and a
// diagonal matrix D of the given elements,
//
//	B = A·D   or, if add,   B = B + A·D.
//
// It computes in float64 and rounds to the elements of B once. At most the
// given number of goroutines work (0 or less: GOMAXPROCS). It panics with
// ErrKind if A or B is not Full, and with ErrShape if the shapes do not fit.
func ScaleColumns[T, U Element](b *Matrix[T], a *Matrix[U], d []float64, add bool, workers int) {
	switch {
	case a.kind != Full || b.kind != Full:
		panic(ErrKind)
	case a.rows != b.rows || a.cols != b.cols || a.nb != b.nb || len(d) != a.cols:
		panic(ErrShape)
	}
	b.EachTile(workers, func(i, j int) {
		from, to := &a.tiles[i*a.nt+j], &b.tiles[i*a.nt+j]
		scale := d[j*a.nb:][:to.Cols]
		for r := range to.Rows {
			x, y := from.Row(r)[:len(scale)], to.Row(r)[:len(scale)]
			for c, s := range scale {
				v := float64(x[c]) * s
				if add {
					v += float64(y[c])
				}
				y[c] = T(v)
			}
		}
	})
}
