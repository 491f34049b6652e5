package tiles

import (
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"
)

// Source is a matrix that can be read. Every gonum mat.Matrix is a
// Source[float64].
type Source[T Element] interface {
	// Dims returns the number of rows and of columns.
	Dims() (r, c int)
	// At returns element (i, j), counted from 0.
	At(i, j int) T
}

// Sink is a matrix that can be written. *mat.Dense is a Sink[float64].
type Sink[T Element] interface {
	Source[T]
	Set(i, j int, v T)
}

// SymmetricSource is a symmetric matrix that can be read. Every gonum
// mat.Symmetric is a SymmetricSource[float64].
type SymmetricSource[T Element] interface {
	Source[T]
	// SymmetricDim returns the order.
	SymmetricDim() int
}

// SymmetricSink is a symmetric matrix that can be written. *mat.SymDense is a SymmetricSink[float64].
type SymmetricSink[T Element] interface {
	SymmetricSource[T]
	// SetSym sets elements (i, j) and (j, i).
	SetSym(i, j int, v T)
}

// TriangularSource is a triangular matrix that can be read. Every gonum
// mat.Triangular is a TriangularSource[float64].
type TriangularSource[T Element] interface {
	Source[T]
	// Triangle returns the order and which triangle is there.
	Triangle() (n int, kind mat.TriKind)
}

// TriangularSink is a triangular matrix that can be written, in its triangle.
// *mat.TriDense is a TriangularSink[float64].
type TriangularSink[T Element] interface {
	TriangularSource[T]
	// SetTri sets element (i, j), which is in the triangle.
	SetTri(i, j int, v T)
}

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

// Stats holds facts about a matrix that a conversion computes on the way. They do
// not depend on the number of workers.
type Stats struct {
	// Norm is the 1-norm, the largest column sum of magnitudes, of the matrix
	// that was made: both halves of a symmetric one count. It is summed in
	// float64 without scaling, as LAPACK's xLANGE does: if the sum of a column
	// of finite float64 overflows, it is +Inf while NonFinite is false. With
	// an infinite or NaN element it is +Inf or NaN.
	Norm float64
	// Columns holds the sums of the columns, of which Norm is the largest.
	Columns []float64
	// Max is the largest magnitude, unless there is a NaN.
	Max float64
	// NonFinite says that some element is infinite or NaN.
	NonFinite bool
	// Row and Col are the first such element in row-major order. In a
	// symmetric matrix Row ≤ Col, whichever half is stored.
	Row, Col int
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

// sequentialBytes is the size up to which a conversion stays on the calling
// goroutine. On a 2-core Xeon (2 MiB L2 a core) 1 MiB is copied from cache in
// 25 µs, about what it takes to wake another thread, and a second worker
// gained nothing up to there: go test -bench CopySmall, commit 77cdac9 with
// the limit at 0.
const sequentialBytes = 1 << 20

// EachTile calls f for every stored tile, from at most the given number of
// goroutines. Any of them may get any tile, at any time, so f(i, j) must not depend
// on other calls of f.
func (a *Matrix[T]) EachTile(workers int, f func(i, j int)) {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, len(a.tiles))
	if a.Bytes() <= sequentialBytes {
		workers = 1
	}
	var next atomic.Int64
	work := func() {
		for {
			k := int(next.Add(1)) - 1
			if k >= len(a.tiles) {
				return
			}
			if i, j := k/a.nt, k%a.nt; a.Stored(i, j) {
				f(i, j)
			}
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
