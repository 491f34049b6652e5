package tiles

import "gonum.org/v1/gonum/mat"

// CopyOptions says how a conversion works. The zero value copies, with as
// many goroutines as the program may run at once.
type CopyOptions struct {
	// Workers is the largest number of goroutines that the call may use, all
	// of which have ended when it returns; 0 or less means GOMAXPROCS. Small
	// matrices are copied by the caller alone.
	Workers int
	// Stats asks for the [Stats] of what is copied, taken while it is in
	// cache.
	Stats bool
	// Home says on which NUMA node the memory of a tile that is made on the
	// way is to be: see [NewOn]. Nil deals tiles out to the nodes.
	Home Layout
}

// From returns a copy of src as a Matrix of the given kind with tiles of
// nb×nb, as [Matrix.CopyFrom] fills it. It panics with ErrShape if nb < 1, or
// kind is not Full and src is not square.
func From[T Element](src Source[T], kind Kind, nb int, opt CopyOptions) (*Matrix[T], Stats) {
	m, n := src.Dims()
	// The tiles are allocated by the goroutine that fills them, so that their
	// pages are touched once, while cached; or where they have a place, before.
	a := Outline[T](kind, m, n, nb)
	return a, a.CopyFrom(src, opt)
}

// CopyFrom overwrites a with src,
//
//	a(i, j) = src(i, j) for every (i, j) in the part that a stores,
//
// and returns the [Stats] of a if they are asked for. The memory of a is kept.
// Of a general src a symmetric or triangular a takes the half that it stores;
// if src stores the other half, a symmetric a is filled by transposing it. In
// diagonal tiles the triangle that a does not store is left alone.
//
// Row-major memory is copied in parallel, in blocks: that of the types named
// at [ViewOf], of Triangular with a unit diagonal, and of a Matrix of any kind
// and tile size. Any other src is read through At by the calling goroutine, by
// rows.
//
// src must not be written meanwhile and must not share memory with a, unless
// it is a itself. CopyFrom panics with ErrShape if the dimensions differ, and
// with ErrStorage if the data of a raw src cannot hold it.
func (a *Matrix[T]) CopyFrom(src Source[T], opt CopyOptions) Stats {
	a.writable()
	return a.fillFrom(NewFilling(a, src, opt.Stats), opt)
}

// fillFrom fills all of a by f.
func (a *Matrix[T]) fillFrom(f *Filling[T], opt CopyOptions) Stats {
	a.place(opt.Home)
	a.shape()
	return f.all(opt.Workers)
}

// CopyTo overwrites dst with a,
//
//	dst(i, j) = a(i, j) for every (i, j) in the part that dst stores,
//
// with at most the given number of goroutines (0 or less: GOMAXPROCS), all of
// which have ended when it returns. A symmetric or triangular dst takes its
// half of a, a general one takes both halves of a symmetric a and the zeros of
// a triangular one.
//
// dst is a Matrix, a General, Symmetric or Triangular (whose unit diagonal is
// left alone), or gonum's *mat.Dense, *mat.SymDense, *mat.TriDense or
// *mat.VecDense; these are filled in parallel, and what their memory holds
// between rows and outside the stored triangle is left alone. An empty gonum
// matrix is given the shape of a first, a TriDense also its triangle. Any
// other dst needs a method Set, SetSym (and takes the upper half) or SetTri, and
// is filled by the calling goroutine, by rows.
//
// dst must not share memory with a. CopyTo panics with ErrShape if the
// dimensions differ, with ErrStorage if the data of a raw dst cannot hold it,
// and with ErrKind if dst cannot be written, or is an empty TriDense and a is
// Full.
func (a *Matrix[T]) CopyTo(dst Source[T], workers int) {
	if a.reuse(dst) {
		return
	}
	if m, n := dst.Dims(); m != a.rows || n != a.cols {
		panic(ErrShape)
	}
	opt := CopyOptions{Workers: workers}
	if v, unit, ok := target(dst, a.nb); ok {
		v.copyFrom(origin[T]{m: a, strict: unit}, opt)
		return
	}
	switch dst := dst.(type) {
	case SymmetricSink[T]:
		for i := range a.rows {
			for j := i; j < a.cols; j++ {
				dst.SetSym(i, j, a.At(i, j))
			}
		}
	case TriangularSink[T]:
		_, kind := dst.Triangle()
		for i := range a.rows {
			lo, hi := 0, i+1
			if kind == mat.Upper {
				lo, hi = i, a.cols
			}
			for j := lo; j < hi; j++ {
				dst.SetTri(i, j, a.At(i, j))
			}
		}
	case Sink[T]:
		for i := range a.rows {
			for j := range a.cols {
				dst.Set(i, j, a.At(i, j))
			}
		}
	default:
		panic(ErrKind)
	}
}

// Clone returns a copy of a with memory of its own, aligned and padded also
// if a is a view, and with the same layout. It works on at most GOMAXPROCS
// goroutines.
func (a *Matrix[T]) Clone() *Matrix[T] {
	b, _ := From[T](a, a.kind, a.nb, CopyOptions{})
	b.layout, b.owners = a.layout, a.owners
	return b
}

// Transposed returns a copy of aᵀ, n×m with the same tile size and without a
// layout. If a is triangular, the copy stores the other triangle. If a is symmetric,
// it is a copy of a. Transposed works on at most GOMAXPROCS goroutines.
func (a *Matrix[T]) Transposed() *Matrix[T] {
	kind := a.kind
	trans := true
	switch a.kind {
	case TriLower:
		kind = TriUpper
	case TriUpper:
		kind = TriLower
	case SymLower, SymUpper:
		trans = false
	}
	b := Outline[T](kind, a.cols, a.rows, a.nb)
	b.copyFrom(origin[T]{m: a, trans: trans}, CopyOptions{})
	return b
}

// copyFrom fills a from o, whose dimensions are a's.
func (a *Matrix[T]) copyFrom(o origin[T], opt CopyOptions) Stats {
	a.writable()
	return a.fillFrom(newFilling(a, o.strips(a.nb), opt.Stats), opt)
}
