package la

// tileSize returns the tile size for a problem whose smallest dimension of
// the result is n.
func (e *Engine) tileSize(n int) int {
	o := e.options()
	if o.NB > 0 {
		return o.NB
	}
	switch {
	case n <= 512:
		return 64
	case n <= 1024:
		return 128
	case n <= 3072:
		return 192
	}
	return 256
}

// goesDirect reports whether a problem of order n goes to one kernel.
func (e *Engine) goesDirect(n int) bool {
	o := e.options()
	switch {
	case o.Direct < 0:
		return false
	case o.Direct > 0:
		return n <= o.Direct
	}
	return n <= 128
}

// TileSize returns the tile size with which the engine computes a result whose
// size goes by n — the order of a symmetric or triangular matrix, else the
// smaller dimension — in a problem whose largest dimension is longest. If such
// a problem is given to one kernel as a whole, direct is true and nb is
// longest.
func (e *Engine) TileSize(n, longest int) (nb int, direct bool) {
	if e.goesDirect(longest) {
		return longest, true
	}
	return e.tileSize(n), false
}
