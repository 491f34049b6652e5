package la

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// shape gives an empty gonum matrix the shape of a result, as gonum does.
func shape[T Element](dst Source[T], m, n int) {
	switch d := any(dst).(type) {
	case *mat.Dense:
		if d.IsEmpty() && m > 0 && n > 0 {
			d.ReuseAs(m, n)
		}
	case *mat.SymDense:
		if d.IsEmpty() && n > 0 {
			d.ReuseAsSym(n)
		}
	case halfSink[T]:
		shape[T](d.SymmetricSink, m, n)
	case columnSink[T]:
		if v, ok := any(d.to).(*mat.VecDense); ok && v.IsEmpty() && m > 0 && n == 1 {
			v.ReuseAsVec(m)
		}
	}
}

// sink returns dst as a Sink, or a *ShapeError of op that calls it name.
func sink[T Element](op, name string, dst Destination[T]) (Sink[T], error) {
	switch d := dst.(type) {
	case Sink[T]:
		return d, nil
	case VectorSink[T]:
		return columnSink[T]{column[T]{d}, d}, nil
	}
	return nil, &ShapeError{op, fmt.Sprintf("%s is a %T, which is neither a Sink nor a VectorSink", name, dst)}
}

// halfSink is a symmetric matrix that stores the lower half of what is written to it.
type halfSink[T Element] struct{ SymmetricSink[T] }

func (h halfSink[T]) Set(i, j int, v T) {
	if i >= j {
		h.SetSym(i, j, v)
	}
}

// Zero implements [Destination].
func (h halfSink[T]) Zero() {
	for i := range h.SymmetricDim() {
		for j := range i + 1 {
			h.SetSym(i, j, 0)
		}
	}
}

// column is a vector as a matrix of one column.
type column[T Element] struct{ v VectorSource[T] }

func (c column[T]) Dims() (m, n int) { return c.v.Len(), 1 }
func (c column[T]) At(i, _ int) T    { return c.v.AtVec(i) }

// columnSink is a column that can be written.
type columnSink[T Element] struct {
	column[T]
	to VectorSink[T]
}

func (c columnSink[T]) Set(i, _ int, x T) { c.to.SetVec(i, x) }

// Zero implements [Destination].
func (c columnSink[T]) Zero() {
	for i := range c.to.Len() {
		c.to.SetVec(i, 0)
	}
}

// writesInPlace reports whether results may go into the memory behind c directly. Other types
// with memory may rely on calls of their Set.
func writesInPlace[T Element](c Source[T]) bool {
	switch any(c).(type) {
	case *blocked.Matrix[T], General[T], *General[T], Symmetric[T], *Symmetric[T], *mat.Dense, *mat.SymDense:
		return true
	}
	return false
}

// writable returns c as a matrix to compute into, Full or symmetric as kind is. It is a view if
// c's memory allows one; in is then the same matrix. Otherwise it is a copy of that kind, and
// back writes it to c. load says whether the computation reads c.
func writable[T Element](c Source[T], kind blocked.Kind, nb int, load bool, workers int) (v, in *blocked.Matrix[T],
	back func()) {
	if writesInPlace[T](c) {
		if v, trans, ok := tiles.ViewOf(c, nb); ok && trans == blas.NoTrans && sameFamily(v.Kind(), kind) {
			return v, v, func() {}
		}
	}
	m, n := c.Dims()
	if load {
		v, _ = blocked.From(c, kind, nb, blocked.CopyOptions{Workers: workers})
	} else {
		v = blocked.New[T](kind, m, n, nb)
	}
	return v, nil, func() { v.CopyTo(c, workers) }
}

// sameFamily reports whether both kinds are full, symmetric or triangular. The kinds after Full
// come in pairs.
func sameFamily(k, l blocked.Kind) bool { return (k+1)/2 == (l+1)/2 }

// readable returns op(a) as a Full matrix and a transposition: a view if a's memory allows one
// and does not overlap c, which the computation writes; otherwise a copy. c may be nil.
func readable[T Element](a Source[T], trans blas.Transpose, nb int, c *blocked.Matrix[T],
	workers int) (*blocked.Matrix[T], blas.Transpose) {
	return readableAs(a, blocked.Full, trans, nb, c, workers)
}

// readableAs is readable for a matrix of any kind. A triangular one gets the diagonal of a, also
// if that is all ones.
func readableAs[T Element](a Source[T], kind blocked.Kind, trans blas.Transpose, nb int, c *blocked.Matrix[T],
	workers int) (*blocked.Matrix[T], blas.Transpose) {
	if v, vt, ok := tiles.ViewOf(a, nb); ok && sameFamily(v.Kind(), kind) && !overlap(v, c) {
		return v, scalar.Compose[T](trans, vt)
	}
	v, _ := blocked.From(a, kind, nb, blocked.CopyOptions{Workers: workers})
	return v, scalar.Compose[T](trans, blas.NoTrans)
}

// triangleKind returns the kind of a triangular a.
func triangleKind[T Element](a TriangularSource[T]) blocked.Kind {
	if _, k := a.Triangle(); k == mat.Upper {
		return blocked.TriUpper
	}
	return blocked.TriLower
}

// onlyTile returns the only tile of a matrix, or an empty tile if the matrix has no elements.
func onlyTile[T Element](a *blocked.Matrix[T]) *blocked.Tile[T] {
	if m, n := a.Dims(); m == 0 || n == 0 {
		return &blocked.Tile[T]{Rows: m, Cols: n, Stride: max(1, n)}
	}
	return a.Tile(0, 0)
}

// overlap reports whether a and c may have common elements: whether the memory ranges of a tile
// of each overlap. A nil c has none.
func overlap[T Element](a, c *blocked.Matrix[T]) bool {
	if c == nil || a == c {
		return c != nil
	}
	held := merge(spans(c))
	for _, s := range spans(a) {
		// The first range that ends behind the start of s.
		i, _ := slices.BinarySearchFunc(held, s.first, func(h span, at uintptr) int { return cmp.Compare(h.end, at+1) })
		if i < len(held) && held[i].first < s.end {
			return true
		}
	}
	return false
}

// span is a range of addresses: from the first element of a tile to behind the last.
type span struct{ first, end uintptr }

// spans returns the spans of the tiles of a that have elements.
func spans[T Element](a *blocked.Matrix[T]) []span {
	var all []span
	for i, j := range a.StoredTiles() {
		if d := a.Tile(i, j).Data; len(d) > 0 {
			p := uintptr(unsafe.Pointer(unsafe.SliceData(d)))
			all = append(all, span{p, p + uintptr(len(d)*scalar.Size[T]())})
		}
	}
	return all
}

// merge sorts spans and joins overlapping or adjacent ones.
func merge(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	joined := all[:0]
	for _, s := range all {
		if n := len(joined); n > 0 && s.first <= joined[n-1].end {
			joined[n-1].end = max(joined[n-1].end, s.end)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// fits reports whether a is an m×n matrix in tiles of nb×nb. A nil a is not.
func fits[T Element](a *blocked.Matrix[T], m, n, nb int) bool {
	if a == nil || a.NB() != nb {
		return false
	}
	r, c := a.Dims()
	return r == m && c == n
}

// shapeTriangle makes an empty *mat.TriDense a triangle of order n and kind; if n is 0 it returns
// empty instead. It panics unless dst is such a triangle. It returns whether dst has a unit
// diagonal, and panics if unitAllowed is false and it has.
func shapeTriangle[T Element](dst TriangularSink[T], n int, kind mat.TriKind, unitAllowed bool) (unit, empty bool) {
	if d, ok := any(dst).(*mat.TriDense); ok && d.IsEmpty() {
		if n == 0 {
			return false, true
		}
		d.ReuseAsTri(n, kind)
	}
	switch d := any(dst).(type) {
	case Triangular[T]:
		unit = d.Diag == blas.Unit
	case *Triangular[T]:
		unit = d.Diag == blas.Unit
	}
	switch r, c := dst.Triangle(); {
	case r != n:
		panic(mat.ErrShape)
	case c != kind || unit && !unitAllowed:
		panic(mat.ErrTriangle)
	}
	return unit, false
}

// transposition returns blas.Trans if trans, else blas.NoTrans.
func transposition(trans bool) blas.Transpose {
	if trans {
		return blas.Trans
	}
	return blas.NoTrans
}
