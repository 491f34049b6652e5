package tiles

// Leading returns the leading m×n block of a, which is Full, as a Matrix that
// shares its memory, as a [View] does. It panics with ErrKind if a is not Full,
// and with ErrShape if a has fewer rows or columns.
func (a *Matrix[T]) Leading(m, n int) *Matrix[T] {
	if a.kind != Full {
		panic(ErrKind)
	}
	if m < 0 || n < 0 || m > a.rows || n > a.cols {
		panic(ErrShape)
	}
	a.writable() // tiles on nodes cannot be shared
	b := Outline[T](Full, m, n, a.nb)
	b.view = a.view
	for i, j := range b.StoredTiles() {
		t := a.tiles[i*a.nt+j]
		t.Rows, t.Cols = b.TileDims(i, j)
		t.Data = t.Data[:(t.Rows-1)*t.Stride+t.Cols]
		b.tiles[i*b.nt+j] = t
	}
	return b
}
