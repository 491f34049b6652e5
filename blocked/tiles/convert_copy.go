package tiles

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/transpose"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"github.com/tessera-la/tessera/kernels/cpu/native"
	"gonum.org/v1/gonum/blas"
)

// strips returns the function that fills tiles of nb×nb from o.
func (o *origin[T]) strips(nb int) strips[T] {
	return func(t *Tile[T], i, j, r, end int, uplo blas.Uplo) {
		o.copyStrip(window[T]{t, i * nb, j * nb}, r, end, uplo)
	}
}

// window is a tile and the index of its first element.
type window[T Element] struct {
	t      *Tile[T]
	i0, j0 int
}

// row returns the elements of global row g from column lo to hi.
func (w window[T]) row(g, lo, hi int) []T {
	off := (g-w.i0)*w.t.Stride - w.j0
	return w.t.Data[off+lo : off+hi]
}

// copyStrip copies rows r to end of a tile, or as much of them as lies in the
// uplo triangle of the whole matrix. Off the diagonal tiles uplo is blas.All.
//
// Seen from the source's diagonal the strip falls into three parts, each of
// which is copied in its own way:
//
//	  below    on     above
//	┌────────┬─────┬─────────┐
//	│        │ \   │         │ strip
//	└────────┴─────┴─────────┘
func (o origin[T]) copyStrip(w window[T], r, end int, uplo blas.Uplo) {
	g0, g1 := w.i0+r, w.i0+end
	c0, c1 := w.j0, w.j0+w.t.Cols
	if o.m.kind == Full && uplo == blas.All {
		o.copyRect(w, g0, g1, c0, c1, blas.All)
		return
	}
	d0, d1 := min(max(g0, c0), c1), min(max(g1, c0), c1)
	if uplo != blas.Upper {
		o.copyRect(w, g0, g1, c0, d0, blas.Lower)
	}
	if uplo != blas.Lower {
		o.copyRect(w, g0, g1, d1, c1, blas.Upper)
	}
	if d0 == d1 {
		return
	}
	for g := g0; g < g1; g++ {
		lo, hi := d0, d1
		switch uplo {
		case blas.Lower:
			hi = min(hi, g+1)
			if o.strict {
				hi = min(hi, g)
			}
		case blas.Upper:
			lo = max(lo, g)
			if o.strict {
				lo = max(lo, g+1)
			}
		}
		if lo >= hi {
			continue
		}
		// The diagonal is copied with the triangle that stores it.
		cut := g + 1
		if o.uplo() == blas.Upper {
			cut = g
		}
		cut = min(max(cut, lo), hi)
		o.copyRect(w, g, g+1, lo, cut, blas.Lower)
		o.copyRect(w, g, g+1, cut, hi, blas.Upper)
		if o.unit && lo <= g && g < hi {
			w.row(g, g, g+1)[0] = 1
		}
	}
}

// uplo returns the triangle that the source stores, after its transposition.
func (o origin[T]) uplo() blas.Uplo {
	u := o.m.kind.Uplo()
	if o.trans && u == blas.Lower {
		return blas.Upper
	}
	if o.trans && u == blas.Upper {
		return blas.Lower
	}
	return u
}

// copyRect copies rows g0 to g1 and columns c0 to c1, all of which lie on the
// given side of the source's diagonal.
func (o origin[T]) copyRect(w window[T], g0, g1, c0, c1 int, side blas.Uplo) {
	if g0 >= g1 || c0 >= c1 {
		return
	}
	swapped := o.trans
	if o.m.kind != Full && side != o.uplo() {
		if o.m.kind == TriLower || o.m.kind == TriUpper {
			for g := g0; g < g1; g++ {
				clear(w.row(g, c0, c1))
			}
			return
		}
		swapped = !swapped
	}
	// p and q run over the rows and columns of the source's memory.
	p0, p1, q0, q1 := g0, g1, c0, c1
	if swapped {
		p0, p1, q0, q1 = c0, c1, g0, g1
	}
	nb := o.m.nb
	for p := p0; p < p1; {
		pEnd := min(p1, p-p%nb+nb)
		for q := q0; q < q1; {
			qEnd := min(q1, q-q%nb+nb)
			s := o.m.here(p/nb*o.m.nt + q/nb)
			from := s.Data[p%nb*s.Stride+q%nb:]
			ld := w.t.Stride
			if swapped {
				to := w.t.Data[(q-w.i0)*ld+p-w.j0:]
				transpose.Copy(to, ld, from, s.Stride, qEnd-q, pEnd-p)
			} else {
				to := w.t.Data[(p-w.i0)*ld+q-w.j0:]
				copyRows(to, ld, from, s.Stride, pEnd-p, qEnd-q, o.m.rows <= fetchBytes/scalar.Size[T]()/max(1, s.Stride))
			}
			q = qEnd
		}
		p = pEnd
	}
}

// fetchBytes is the most that a source may take whose rows are fetched ahead of
// the copying: no hardware does so for pieces of rows, which lie in a page each.
// From the third-level cache of a Zen 3 they come at 13 to 20 GB/s instead of 4 to
// 14, of 16 MiB at 5 to 7 instead of 3 to 5; from beyond it, and on a Xeon (model
// 167), nothing is gained.
const fetchBytes = 16 << 20

// fetchRows is how many rows ahead copyRows fetches, be they of this block or below it.
const fetchRows = 8

// copyRows copies a rows×cols block from src to dst, with strides ss and ld. With
// fetch it asks for rows of src that are likely to come next.
func copyRows[T Element](dst []T, ld int, src []T, ss, rows, cols int, fetch bool) {
	if cols == ld && cols == ss {
		copy(dst[:rows*cols], src[:rows*cols])
		return
	}
	// Short rows are not worth the call.
	if size := scalar.Size[T](); fetch && cols*size >= 64 {
		if vectors := isa.Of[T](native.Best()).CopyRows; vectors != nil {
			_, _ = dst[(rows-1)*ld+cols-1], src[(rows-1)*ss+cols-1]
			vectors(isa.At(dst), ld*size, isa.At(src), ss*size, cols*size, rows, fetchRows*ss*size)
			return
		}
	}
	for r := range rows {
		copy(dst[r*ld:r*ld+cols], src[r*ss:r*ss+cols])
	}
}

// strips fills rows r to end−1 of t, which is tile (i, j), or the part of them in the uplo triangle of the
// matrix.
type strips[T Element] func(t *Tile[T], i, j, r, end int, uplo blas.Uplo)
