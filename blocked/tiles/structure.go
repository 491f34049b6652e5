package tiles

import "sync/atomic"

// Structure describes the zeros and the symmetry of a square matrix.
type Structure struct {
	Lower, Upper bool // all elements above, or below, the diagonal are zero
	Symmetric    bool // aᵢⱼ = aⱼᵢ, exactly; false if there is a NaN
}

// Structure returns the structure of a. It takes it from the kind unless a is Full.
// It examines a Full matrix for each property until an element contradicts it; for
// most matrices one tile is enough. At most the given number of goroutines work (0
// or less: GOMAXPROCS). It panics with ErrShape if a is not square.
func (a *Matrix[T]) Structure(workers int) Structure {
	if a.rows != a.cols {
		panic(ErrShape)
	}
	switch a.kind {
	case SymLower, SymUpper:
		return Structure{Symmetric: true}
	case TriLower:
		return Structure{Lower: true}
	case TriUpper:
		return Structure{Upper: true}
	}
	var above, below, unequal atomic.Bool // set when an element contradicts a property
	a.EachTile(workers, func(i, j int) {
		if i < j {
			return // examined with its mirror image
		}
		// In strips that stay in the first-level cache with their mirror images.
		t, u := a.here(i*a.nt+j), a.here(j*a.nt+i)
		for r := 0; r < t.Rows; r += stripRows {
			for c := 0; c < t.Cols && (i != j || c <= r); c += stripRows {
				if below.Load() && above.Load() && unequal.Load() {
					return
				}
				s := pair[T]{t, u, r, min(r+stripRows, t.Rows), c, min(c+stripRows, t.Cols), i == j}
				b, o, e := s.look(!unequal.Load())
				if b {
					below.Store(true)
				}
				if o {
					above.Store(true)
				}
				if e {
					unequal.Store(true)
				}
			}
		}
	})
	return Structure{Lower: !above.Load(), Upper: !below.Load(), Symmetric: !unequal.Load()}
}

// pair is rows r0 to r1 and columns c0 to c1 of a tile t below the diagonal, and
// their mirror image in u. If diagonal, t is a diagonal tile, and only the elements
// below its diagonal belong to the pair.
type pair[T Element] struct {
	t, u           *Tile[T]
	r0, r1, c0, c1 int
	diagonal       bool
}

// look reports whether there are nonzero elements below the diagonal and above it,
// and, if compare, whether the two parts differ.
func (p pair[T]) look(compare bool) (below, above, unequal bool) {
	for r := p.r0; r < p.r1; r++ {
		end := p.c1
		if p.diagonal {
			end = min(end, r)
		}
		if p.c0 >= end {
			continue
		}
		for _, v := range p.t.Row(r)[p.c0:end] {
			if v != 0 {
				below = true
				break
			}
		}
	}
	for c := p.c0; c < p.c1; c++ {
		begin := p.r0
		if p.diagonal {
			begin = max(begin, c+1)
		}
		if begin >= p.r1 {
			continue
		}
		for _, v := range p.u.Row(c)[begin:p.r1] {
			if v != 0 {
				above = true
				break
			}
		}
	}
	if below != above {
		return below, above, true
	}
	if !compare || !below && !p.diagonal {
		return below, above, false
	}
	for r := p.r0; r < p.r1; r++ {
		end := p.c1
		if p.diagonal {
			end = min(end, r+1) // a NaN on the diagonal differs from itself
		}
		if p.c0 >= end {
			continue
		}
		image, at := p.u.Data[p.c0*p.u.Stride+r:], 0
		for _, v := range p.t.Row(r)[p.c0:end] {
			if v != image[at] {
				return below, above, true
			}
			at += p.u.Stride
		}
	}
	return below, above, false
}
