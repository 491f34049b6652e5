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

// sink returns dst, which op calls name, as what can be written, or a *ShapeError.
func sink[T Element](op, name string, dst Destination[T]) (Sink[T], error) {
	switch d := dst.(type) {
	case Sink[T]:
		return d, nil
	case VectorSink[T]:
		return columnSink[T]{column[T]{d}, d}, nil
	}
	return nil, &ShapeError{op, fmt.Sprintf("%s is a %T, which is neither a Sink nor a VectorSink", name, dst)}
}

// halfSink is a symmetric matrix that takes the lower half of what is written.
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

// memory reports whether results may be put into the memory behind c. Other
// types that show their memory may want their own Set to be called.
func memory[T Element](c Source[T]) bool {
	switch any(c).(type) {
	case *blocked.Matrix[T], General[T], *General[T], Symmetric[T], *Symmetric[T], *mat.Dense, *mat.SymDense:
		return true
	}
	return false
}

// writable returns c as a matrix to compute into, Full or symmetric as kind says: a
// view if c has memory that allows one, which then is in as well, otherwise a copy
// of that kind, which back brings home. load says whether what c holds is needed.
func writable[T Element](c Source[T], kind blocked.Kind, nb int, load bool, workers int) (v, in *blocked.Matrix[T], back func()) {
	if memory[T](c) {
		if v, trans, ok := tiles.ViewOf(c, nb); ok && trans == blas.NoTrans && alike(v.Kind(), kind) {
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

// alike reports whether both kinds are full, symmetric or triangular: after Full they
// come in pairs.
func alike(k, l blocked.Kind) bool { return (k+1)/2 == (l+1)/2 }

// readable returns op(a) as a Full matrix and a transposition: a view if a has
// memory that allows one and c, which is going to be written, has no part in
// it; otherwise a copy. c may be nil.
func readable[T Element](a Source[T], trans blas.Transpose, nb int, c *blocked.Matrix[T], workers int) (*blocked.Matrix[T], blas.Transpose) {
	return readableAs(a, blocked.Full, trans, nb, c, workers)
}

// readableAs is readable for a matrix of that kind; a triangular one has the diagonal
// of a, ones included.
func readableAs[T Element](a Source[T], kind blocked.Kind, trans blas.Transpose, nb int, c *blocked.Matrix[T], workers int) (*blocked.Matrix[T], blas.Transpose) {
	if v, vt, ok := tiles.ViewOf(a, nb); ok && alike(v.Kind(), kind) && !overlap(v, c) {
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

// whole returns the tile of a matrix that has but one, or none because it has
// no elements.
func whole[T Element](a *blocked.Matrix[T]) *blocked.Tile[T] {
	if m, n := a.Dims(); m == 0 || n == 0 {
		return &blocked.Tile[T]{Rows: m, Cols: n, Stride: max(1, n)}
	}
	return a.Tile(0, 0)
}

// overlap reports whether the memory of a and c may have common elements: the
// ranges from first to last element of a tile of each meet. A nil c has none.
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

// span is the addresses from the first to behind the last element of a tile.
type span struct{ first, end uintptr }

// spans returns the spans of the tiles of a that have elements.
func spans[T Element](a *blocked.Matrix[T]) []span {
	var zero T
	var all []span
	for i, j := range a.StoredTiles() {
		if d := a.Tile(i, j).Data; len(d) > 0 {
			p := uintptr(unsafe.Pointer(unsafe.SliceData(d)))
			all = append(all, span{p, p + uintptr(len(d))*unsafe.Sizeof(zero)})
		}
	}
	return all
}

// merge sorts spans and joins those that meet.
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
