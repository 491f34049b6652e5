package la

import (
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
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
	case *mat.VecDense:
		if d.IsEmpty() && m > 0 {
			d.ReuseAsVec(m)
		}
	}
}

// writable returns c as a Full matrix to compute into: a view if c has memory
// that allows one, otherwise a copy, which back brings home. load says whether
// what c holds is needed.
func writable[T Element](c Sink[T], nb int, load bool, workers int) (v *blocked.Matrix[T], back func()) {
	if v, trans, ok := blocked.ViewOf[T](c, nb); ok && trans == blas.NoTrans && v.Kind() == blocked.Full {
		return v, func() {}
	}
	m, n := c.Dims()
	if load {
		v, _ = blocked.From[T](c, blocked.Full, nb, blocked.CopyOptions{Workers: workers})
	} else {
		v = blocked.New[T](blocked.Full, m, n, nb)
	}
	return v, func() { v.CopyTo(c, workers) }
}

// writableSym is writable for a symmetric c.
func writableSym[T Element](c SymmetricSink[T], nb int, load bool, workers int) (v *blocked.Matrix[T], back func()) {
	if v, trans, ok := blocked.ViewOf[T](c, nb); ok && trans == blas.NoTrans &&
		(v.Kind() == blocked.SymLower || v.Kind() == blocked.SymUpper) {
		return v, func() {}
	}
	if load {
		v, _ = blocked.From[T](c, blocked.SymLower, nb, blocked.CopyOptions{Workers: workers})
	} else {
		v = blocked.New[T](blocked.SymLower, c.SymmetricDim(), c.SymmetricDim(), nb)
	}
	return v, func() { v.CopyTo(c, workers) }
}

// readable returns op(a) as a Full matrix and a transposition: a view if a has
// memory that allows one and c, which is going to be written, has no part in
// it; otherwise a copy.
func readable[T Element](a Source[T], trans blas.Transpose, nb int, c *blocked.Matrix[T], workers int) (*blocked.Matrix[T], blas.Transpose) {
	if trans == blas.ConjTrans {
		trans = blas.Trans
	}
	if v, vt, ok := blocked.ViewOf(a, nb); ok && v.Kind() == blocked.Full && !overlap(v, c) {
		if vt == blas.NoTrans {
			return v, trans
		}
		if trans == blas.NoTrans {
			return v, blas.Trans
		}
		return v, blas.NoTrans
	}
	v, _ := blocked.From(a, blocked.Full, nb, blocked.CopyOptions{Workers: workers})
	return v, trans
}

// readableTri returns op(a) as a triangular matrix, a transposition, and
// whether the diagonal is ones.
func readableTri[T Element](a TriangularSource[T], trans blas.Transpose, nb, workers int) (*blocked.Matrix[T], blas.Transpose, blas.Diag) {
	if trans == blas.ConjTrans {
		trans = blas.Trans
	}
	if v, vt, ok := blocked.ViewOf[T](a, nb); ok && (v.Kind() == blocked.TriLower || v.Kind() == blocked.TriUpper) {
		if vt == blas.NoTrans {
			return v, trans, blas.NonUnit
		}
		if trans == blas.NoTrans {
			return v, blas.Trans, blas.NonUnit
		}
		return v, blas.NoTrans, blas.NonUnit
	}
	// A copy has the ones of a unit diagonal in it.
	kind := blocked.TriLower
	if _, k := a.Triangle(); k == mat.Upper {
		kind = blocked.TriUpper
	}
	v, _ := blocked.From[T](a, kind, nb, blocked.CopyOptions{Workers: workers})
	return v, trans, blas.NonUnit
}

// overlap reports whether the memory of a and c may have common elements: the
// ranges from first to last element meet.
func overlap[T Element](a, c *blocked.Matrix[T]) bool {
	a0, a1 := span(a)
	c0, c1 := span(c)
	return a0 < c1 && c0 < a1
}

// span returns the addresses from the first to behind the last element of a.
func span[T Element](a *blocked.Matrix[T]) (first, last uintptr) {
	var zero T
	mt, nt := a.Tiles()
	for i := range mt {
		for j := range nt {
			if !a.Stored(i, j) {
				continue
			}
			d := a.Tile(i, j).Data
			if len(d) == 0 {
				continue
			}
			p := uintptr(unsafe.Pointer(unsafe.SliceData(d)))
			if first == 0 || p < first {
				first = p
			}
			last = max(last, p+uintptr(len(d))*unsafe.Sizeof(zero))
		}
	}
	return first, last
}
