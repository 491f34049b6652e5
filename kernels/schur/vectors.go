package schur

import (
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"gonum.org/v1/gonum/blas"
)

// vectorBlock is the number of eigenvectors that one part computes, and of rows for which it solves at a time.
const vectorBlock = 64

// Vectors computes the eigenvectors of a matrix from its Schur form. The real and the imaginary part of the vector of a
// complex eigenvalue with a positive imaginary part are rows i and i+1, where T has the block of the pair.
type Vectors[T scalar.Real] struct {
	Kernels *cpu.Hessenberg[T]
	T, Z    tridiag.Matrix[T] // of [Iteration]
	// Left are the eigenvectors of Tᵀ instead, conjugated: u with uᴴ·T = λ·uᴴ.
	Left bool

	edges []int     // first rows of blocks, between which no pair is
	norms []float64 // sums of the magnitudes above the diagonal in a column
	tiny  float64
	large float64
}

// To sets the rows of to to the eigenvectors, each multiplied by a number that keeps its elements from overflow. It
// overwrites T if it computes the left ones. If Kernels.Stop says so, To ends soon, and the rows are undefined.
//
// Reference: LAPACK xTREVC3; Anderson, Robust triangular solves for use in condition estimation (LAWN 36, 1991).
func (v *Vectors[T]) To(to tridiag.Matrix[T]) {
	n := v.T.Rows
	if v.Left {
		v.flip()
	}
	v.prepare()
	parts := len(v.edges) - 1
	k := v.Kernels
	k.Crew()(parts, n*(vectorBlock+1)+k.Work(n), func(part, _ int, work []T) {
		b := parts - 1 - part // the longest vectors first
		first, end := v.edges[b], v.edges[b+1]
		cols := end - first
		if cols == 0 || k.Stop != nil && k.Stop() != nil {
			return
		}
		p := solving[T]{Vectors: v, first: first, cols: cols, x: work[:end*cols]}
		work = work[end*cols:]
		p.block(b, work)
		from, row := 0, first // of Z and to
		if v.Left {
			p.flip()
			from, row = n-end, n-end
		}
		k.Gemm(blas.Trans, blas.NoTrans, cols, n, end, 1, p.x, cols, v.Z.Data[from*v.Z.Stride:], v.Z.Stride, 0,
			to.Data[row*to.Stride:], to.Stride, work)
	})
}

// prepare divides T into blocks and computes what all of them use.
func (v *Vectors[T]) prepare() {
	n := v.T.Rows
	v.edges = v.edges[:0]
	for i := 0; i < n; i += vectorBlock {
		if i > 0 && v.T.Row(i)[i-1] != 0 {
			i++
		}
		v.edges = append(v.edges, min(i, n))
	}
	v.edges = append(v.edges, n)
	eps := 2 * scalar.Eps[T]()
	v.tiny = scalar.SafeMin[T]() * float64(n) / eps
	v.large = (1 - eps) / v.tiny
	v.norms = make([]float64, n)
	for i := range n {
		for j, x := range v.T.Row(i)[i+1:] {
			v.norms[i+1+j] += abs(x)
		}
	}
}

// flip reflects T in its antidiagonal, which makes an upper triangle of that of Tᵀ.
func (v *Vectors[T]) flip() {
	n := v.T.Rows
	for i := range n {
		for j := range n - i - 1 {
			x, y := &v.T.Row(i)[j], &v.T.Row(n - 1 - j)[n-1-i]
			*x, *y = *y, *x
		}
	}
}

// solving is the solution for the eigenvectors of some columns of T. Row i of x has their elements i.
type solving[T scalar.Real] struct {
	*Vectors[T]
	first, cols int
	x           []T
}

// block computes the vectors of block b, from its rows up.
func (p *solving[T]) block(b int, work []T) {
	clear(p.x)
	for ; b >= 0; b-- {
		lo, hi := p.edges[b], p.edges[b+1]
		p.rows(lo, hi)
		if lo > 0 {
			p.Kernels.Gemm(blas.NoTrans, blas.NoTrans, lo, p.cols, hi-lo, -1, p.T.Data[lo:], p.T.Stride, p.x[lo*p.cols:], p.cols, 1, p.x, p.cols, work)
		}
	}
	p.normalize()
}

// rows solves for rows lo to hi−1. What the rows after them contribute has been subtracted.
func (p *solving[T]) rows(lo, hi int) {
	t := &p.T
	for j := hi - 1; j >= lo; j-- {
		order := 1
		if j > lo && t.Row(j)[j-1] != 0 {
			order = 2
			j--
		}
		own := max(j-p.first, 0) // the vectors before that have zeros here
		if j >= p.first {
			p.begin(j, order)
			own += order
		}
		for q := own; q < p.cols; {
			if p.pair(q) {
				p.solve(j, order, q, true)
				q += 2
			} else {
				p.solve(j, order, q, false)
				q++
			}
		}
		from := max(j-p.first, 0)
		for d := range order {
			row := p.x[(j+d)*p.cols:][from:p.cols]
			for i := lo; i < j; i++ {
				p.Kernels.Axpy(-t.Row(i)[j+d], row, p.x[i*p.cols:][from:p.cols])
			}
		}
	}
}

// begin sets the elements in rows j and so on of the vectors that belong to that block.
func (p *solving[T]) begin(j, order int) {
	q := j - p.first
	if order == 1 {
		p.x[j*p.cols+q] = 1
		return
	}
	x, y := p.x[j*p.cols+q:][:2], p.x[(j+1)*p.cols+q:][:2]
	upper, lower := p.T.Row(j)[j+1], p.T.Row(j + 1)[j]
	im := T(math.Sqrt(abs(upper)) * math.Sqrt(abs(lower)))
	if abs(upper) >= abs(lower) {
		x[0], y[1] = 1, im/upper
	} else {
		x[0], y[1] = -im/lower, 1
	}
}

// solve computes the elements in row j, or rows j and j+1, of the vector in column q, or columns q and q+1 if it is
// complex. It multiplies the vector by a number less than 1 where elements might overflow otherwise.
func (p *solving[T]) solve(j, order, q int, pair bool) {
	t, k := &p.T, p.first+q
	value := complex(float64(t.Row(k)[k]), 0)
	if pair {
		value += complex(0, math.Sqrt(abs(t.Row(k)[k+1]))*math.Sqrt(abs(t.Row(k + 1)[k])))
	}
	least := max(2*scalar.Eps[T]()*size(value), p.tiny)
	norm, scale := p.norms[j], 1.0
	b := p.load(j, order, q, pair)
	if order == 1 {
		scale = divide(&b[0], complex(float64(t.Row(j)[j]), 0)-value, least, p.large)
	} else {
		norm = max(norm, p.norms[j+1])
		x, y := t.Row(j)[j:], t.Row(j + 1)[j:]
		a := [2][2]complex128{
			{complex(float64(x[0]), 0) - value, complex(float64(x[1]), 0)},
			{complex(float64(y[0]), 0), complex(float64(y[1]), 0) - value},
		}
		scale = eliminate(&a, &b, least, p.large)
	}
	if most := max(size(b[0]), size(b[1])); most > 1 && norm > p.large/most {
		for r := range b {
			b[r] = complex(real(b[r])/most, imag(b[r])/most)
		}
		scale /= most
	}
	if scale != 1 {
		for i := range len(p.x) / p.cols {
			p.x[i*p.cols+q] *= T(scale)
			if pair {
				p.x[i*p.cols+q+1] *= T(scale)
			}
		}
	}
	p.store(b, j, order, q, pair)
}

// load returns the elements of rows j to j+order−1 in column q, and with pair the imaginary parts in the next one.
func (p *solving[T]) load(j, order, q int, pair bool) (b [2]complex128) {
	for r := range order {
		at := p.x[(j+r)*p.cols+q:]
		b[r] = complex(float64(at[0]), 0)
		if pair {
			b[r] += complex(0, float64(at[1]))
		}
	}
	return b
}

// store is the inverse of load.
func (p *solving[T]) store(b [2]complex128, j, order, q int, pair bool) {
	for r := range order {
		at := p.x[(j+r)*p.cols+q:]
		at[0] = T(real(b[r]))
		if pair {
			at[1] = T(imag(b[r]))
		}
	}
}

// pair reports whether column q of x and the next one belong to a pair.
func (p *solving[T]) pair(q int) bool {
	k := p.first + q
	return k+1 < p.T.Rows && p.T.Row(k + 1)[k] != 0
}

// normalize divides each vector by the size of its largest element.
func (p *solving[T]) normalize() {
	var most [vectorBlock + 1]float64
	for i := 0; i < len(p.x); i += p.cols {
		for q, x := range p.x[i:][:p.cols] {
			most[q] = max(most[q], abs(x))
		}
	}
	for q := 0; q < p.cols; q++ {
		if p.pair(q) {
			most[q] += most[q+1]
			most[q+1] = most[q]
			q++
		}
	}
	for i := 0; i < len(p.x); i += p.cols {
		row := p.x[i:][:p.cols]
		for q, x := range row {
			row[q] = x / T(most[q])
		}
	}
}

// flip brings the vectors of a T that has been flipped into the order of the original one, and conjugates them.
func (p *solving[T]) flip() {
	for q := 0; q < p.cols; q++ {
		if p.pair(q) {
			for i := q; i < len(p.x); i += p.cols {
				p.x[i], p.x[i+1] = -p.x[i+1], p.x[i]
			}
			q++
		}
	}
	slices.Reverse(p.x)
}
