package schur

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"gonum.org/v1/gonum/blas"
)

// Iteration is the QR iteration for a Hessenberg matrix.
type Iteration[T scalar.Real] struct {
	Kernels *cpu.Hessenberg[T]

	H tridiag.Matrix[T] // becomes T
	// Z is multiplied from the left by the transpose of the matrix of Schur vectors, in columns ZLo to ZHi−1. Without
	// rows, there are none to compute.
	Z        tridiag.Matrix[T]
	ZLo, ZHi int
	// Form says that all of T is wanted, and not only the eigenvalues.
	Form bool
	// Re and Im become the real and imaginary parts of the eigenvalues, in their order on the diagonal of T. The two of a
	// pair follow each other, that with the positive imaginary part first.
	Re, Im []T

	eps, tiny float64 // the distance from 1 to the next number, and what counts as zero
	shiftRe   []float64
	shiftIm   []float64
	u         tridiag.Matrix[T] // what a sweep or a deflation does in its window, transposed
	bulges    []reflector
	inner     *Iteration[T] // the iteration for windows of deflations
	store     []T           // its memory, if this is one
	work      []T           // scratch
}

// begin sets what depends on the order alone.
func (t *Iteration[T]) begin() {
	t.eps = 2 * scalar.Eps[T]()
	t.tiny = scalar.SafeMin[T]() * float64(t.H.Rows) / t.eps
}

// window returns an iteration for a matrix of order w beside H. It uses the memory of the one before it.
func (t *Iteration[T]) window(w int) *Iteration[T] {
	if t.inner == nil {
		t.inner = &Iteration[T]{Kernels: cpu.NewHessenberg(t.Kernels.Routines, nil)}
	}
	x, ld := t.inner, w+4 // not a power of two
	if len(x.store) < 2*w*(ld+1) {
		x.store = make([]T, 2*w*(ld+1))
	}
	rest := x.store
	take := func(n int) []T {
		s := rest[:n:n]
		rest = rest[n:]
		return s
	}
	x.H = tridiag.Matrix[T]{Rows: w, Cols: w, Stride: ld, Data: take(w * ld)}
	x.Z = tridiag.Matrix[T]{Rows: w, Cols: w, Stride: ld, Data: take(w * ld)}
	x.Re, x.Im = take(w), take(w)
	x.ZLo, x.ZHi, x.Form = 0, w, true
	x.begin()
	return x
}

// block returns the block of order 2 on the diagonal whose first row is i.
func (t *Iteration[T]) block(i int) block {
	x, y := t.H.Row(i)[i:], t.H.Row(i + 1)[i:]
	return block{float64(x[0]), float64(x[1]), float64(y[0]), float64(y[1])}
}

// setBlock sets it.
func (t *Iteration[T]) setBlock(i int, x block) {
	r, s := t.H.Row(i)[i:], t.H.Row(i + 1)[i:]
	r[0], r[1], s[0], s[1] = T(x.a), T(x.b), T(x.c), T(x.d)
}

// updatePart is the number of columns or rows that one part of an update multiplies.
const updatePart = 128

// update multiplies H and Z by what has been done in the window of rows and columns lo to lo+w−1, where u is the
// transpose of that orthogonal matrix: rows above to until−1 of the window's columns, columns right to end−1 of its
// rows, and its rows of Z.
func (t *Iteration[T]) update(lo int, u tridiag.Matrix[T], above, until, right, end int) {
	w := u.Rows
	parts := func(n int) int { return (max(n, 0) + updatePart - 1) / updatePart }
	rights, aboves := parts(end-right), parts(until-above)
	all := rights + aboves
	if t.Z.Rows > 0 {
		all += parts(t.ZHi - t.ZLo)
	}
	k := t.Kernels
	k.Crew()(all, w*updatePart+k.Work(max(w, updatePart)), func(part, _ int, work []T) {
		old, work := work[:w*updatePart], work[w*updatePart:]
		fromLeft := func(x tridiag.Matrix[T], j, cols int) {
			for i := range w {
				copy(old[i*cols:][:cols], x.Data[(lo+i)*x.Stride+j:])
			}
			k.Gemm(blas.NoTrans, blas.NoTrans, w, cols, w, 1, u.Data, u.Stride, old, cols, 0, x.Data[lo*x.Stride+j:], x.Stride, work)
		}
		switch {
		case part < rights:
			j := right + part*updatePart
			fromLeft(t.H, j, min(updatePart, end-j))
		case part < rights+aboves:
			i := above + (part-rights)*updatePart
			rows := min(updatePart, until-i)
			for r := range rows {
				copy(old[r*w:][:w], t.H.Data[(i+r)*t.H.Stride+lo:])
			}
			k.Gemm(blas.NoTrans, blas.Trans, rows, w, w, 1, old, w, u.Data, u.Stride, 0, t.H.Data[i*t.H.Stride+lo:], t.H.Stride, work)
		default:
			j := t.ZLo + (part-rights-aboves)*updatePart
			fromLeft(t.Z, j, min(updatePart, t.ZHi-j))
		}
	})
}

// abs returns |x|.
func abs[T scalar.Real](x T) float64 { return math.Abs(float64(x)) }
