package tiles

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// origin is a source that lies in memory: a Matrix, read as it is or
// transposed.
type origin[T Element] struct {
	m     *Matrix[T]
	trans bool // the source is mᵀ
	unit  bool // the diagonal is all ones, whatever m holds there
	// strict keeps the destination's diagonal as it is. It belongs to the
	// destination; it stands here because it too is about one copy.
	strict bool
}

// originOf finds the memory behind src and returns it in tiles of nb×nb, or
// in one tile if nb is 0; a Matrix keeps its own tiles. It returns false if
// src can only be read through At. It panics with ErrStorage for a raw matrix
// of this package whose data cannot hold it.
func originOf[T Element](src Source[T], nb int) (origin[T], bool) {
	switch s := src.(type) {
	case *Matrix[T]:
		return origin[T]{m: s}, true
	case General[T]:
		return generalOrigin(s, nb), true
	case *General[T]:
		return generalOrigin(*s, nb), true
	case Symmetric[T]:
		return symmetricOrigin(s, nb), true
	case *Symmetric[T]:
		return symmetricOrigin(*s, nb), true
	case Triangular[T]:
		return triangularOrigin(s, nb), true
	case *Triangular[T]:
		return triangularOrigin(*s, nb), true
	}
	return gonumOrigin(src, nb)
}

func generalOrigin[T Element](g General[T], nb int) origin[T] {
	return origin[T]{m: View(g, tileSize(nb, g.Rows, g.Cols))}
}

func symmetricOrigin[T Element](s Symmetric[T], nb int) origin[T] {
	return origin[T]{m: ViewSymmetric(s, tileSize(nb, s.N, s.N))}
}

func triangularOrigin[T Element](t Triangular[T], nb int) origin[T] {
	return origin[T]{m: viewTriangle(t, tileSize(nb, t.N, t.N)), unit: t.Diag == blas.Unit}
}

// tileSize returns nb, or if it is 0 the size of a tile that holds all.
func tileSize(nb, m, n int) int {
	if nb == 0 {
		return max(1, m, n)
	}
	return nb
}

// gonumOrigin is originOf for gonum's types, and for types that offer their memory
// in gonum's way. It does not use memory that does not fit the shape: the source is
// then read through At.
func gonumOrigin[T Element](src Source[T], nb int) (origin[T], bool) {
	var none origin[T]
	if _, ok := any(src).(Source[float64]); !ok {
		return none, false
	}
	x, trans := any(src), false
	for {
		u, ok := x.(mat.Untransposer)
		if !ok {
			break
		}
		x, trans = u.Untranspose(), !trans
	}
	m, n := src.Dims()
	if trans {
		m, n = n, m
		if own, ok := x.(Source[T]); ok && isOwn[T](x) {
			o, _ := originOf(own, nb)
			o.trans = !o.m.kind.Symmetric()
			return o, true
		}
	}
	var o origin[T]
	switch r := x.(type) {
	case mat.RawTriangular:
		t := r.RawTriangular()
		d, _ := any(t.Data).([]T)
		if t.N != m || t.N != n || !hasTriangle(t.Uplo) || misfit(m, n, t.Stride, len(d)) != "" {
			return none, false
		}
		o = triangularOrigin(Triangular[T]{Uplo: t.Uplo, Diag: t.Diag, N: t.N, Stride: t.Stride, Data: d}, nb)
	case mat.RawSymmetricer:
		s := r.RawSymmetric()
		d, _ := any(s.Data).([]T)
		if s.N != m || s.N != n || !hasTriangle(s.Uplo) || misfit(m, n, s.Stride, len(d)) != "" {
			return none, false
		}
		// Its transpose is the same matrix.
		return symmetricOrigin(Symmetric[T]{Uplo: s.Uplo, N: s.N, Stride: s.Stride, Data: d}, nb), true
	case mat.RawMatrixer:
		g := r.RawMatrix()
		d, _ := any(g.Data).([]T)
		if g.Rows != m || g.Cols != n || misfit(m, n, g.Stride, len(d)) != "" {
			return none, false
		}
		o = generalOrigin(General[T]{Rows: m, Cols: n, Stride: g.Stride, Data: d}, nb)
	case mat.RawVectorer:
		v := r.RawVector()
		d, _ := any(v.Data).([]T)
		if v.N != m || n != 1 || misfit(m, n, v.Inc, len(d)) != "" {
			return none, false
		}
		o = generalOrigin(General[T]{Rows: m, Cols: 1, Stride: v.Inc, Data: d}, nb)
	default:
		return none, false
	}
	o.trans = trans
	return o, true
}

// isOwn reports whether x is one of the matrices of this package that lie in memory.
func isOwn[T Element](x any) bool {
	switch x.(type) {
	case *Matrix[T], General[T], *General[T], Symmetric[T], *Symmetric[T], Triangular[T], *Triangular[T]:
		return true
	}
	return false
}

func hasTriangle(uplo blas.Uplo) bool { return uplo == blas.Upper || uplo == blas.Lower }

// reuse gives an empty gonum matrix the shape of a. It reports that there is
// nothing to copy: a has no elements, a shape that gonum's matrices do not
// have.
func (a *Matrix[T]) reuse(dst Source[T]) (done bool) {
	d, ok := any(dst).(interface{ IsEmpty() bool })
	if !ok || !d.IsEmpty() {
		return false
	}
	none := a.rows == 0 || a.cols == 0
	switch d := any(dst).(type) {
	case *mat.Dense:
		if !none {
			d.ReuseAs(a.rows, a.cols)
		}
	case *mat.VecDense:
		if a.cols != 1 {
			panic(ErrShape)
		}
		if !none {
			d.ReuseAsVec(a.rows)
		}
	case *mat.SymDense:
		if a.rows != a.cols {
			panic(ErrShape)
		}
		if !none {
			d.ReuseAsSym(a.rows)
		}
	case *mat.TriDense:
		if a.rows != a.cols {
			panic(ErrShape)
		}
		if a.kind == Full {
			panic(ErrKind)
		}
		if !none {
			d.ReuseAsTri(a.rows, mat.TriKind(a.kind.Uplo() == blas.Upper))
		}
	default:
		return false
	}
	return none
}

// target returns a view in tiles of nb×nb of a destination that lies in
// memory, and whether its diagonal is not to be written.
func target[T Element](dst Source[T], nb int) (v *Matrix[T], unit, ok bool) {
	switch any(dst).(type) {
	case *mat.Dense, *mat.SymDense, *mat.TriDense, *mat.VecDense:
	default:
		if !isOwn[T](dst) { // the Set of another type may do more
			return nil, false, false
		}
	}
	o, ok := originOf(dst, nb)
	return o.m, o.unit, ok
}

// ViewOf returns a Matrix that aliases the memory of a, if a has row-major memory
// that a view can present; otherwise ok is false. With trans = blas.Trans the view
// presents the transpose of a:
//
//	a = v (trans = blas.NoTrans) or a = vᵀ (trans = blas.Trans).
//
// The kinds that have a view are General, Symmetric and Triangular, gonum's
// mat.Dense, mat.SymDense, mat.TriDense and mat.VecDense, the transposes (T,
// TTri, TVec) of all of them, any other type that offers its memory by gonum's
// RawMatrixer, RawSymmetricer, RawTriangular or RawVectorer, and a Matrix
// with tiles of nb×nb, which is returned as it is. Triangular matrices with a
// unit diagonal have none, and neither has the transpose of a distributed
// Matrix. It panics with ErrShape if nb < 1.
func ViewOf[T Element](a Source[T], nb int) (v *Matrix[T], trans blas.Transpose, ok bool) {
	if nb < 1 {
		panic(ErrShape)
	}
	o, ok := originOf(a, nb)
	if !ok || o.unit || o.m.nb != nb || o.trans && o.m.away != nil {
		return nil, blas.NoTrans, false
	}
	trans = blas.NoTrans
	if o.trans {
		trans = blas.Trans
	}
	return o.m, trans, true
}
