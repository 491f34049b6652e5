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

// Vectors is the eigenvectors of a matrix by its Schur form. The real and the imaginary part of one for a complex eigenvalue with
// a positive imaginary part are rows i and i+1, where T has the block of the pair.
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

// To sets the rows of to to the eigenvectors, each multiplied by a number that keeps its elements from overflow. It overwrites T if it
// computes the left ones. If Kernels.Stop says so, To ends soon, and the rows are undefined.
//
// Reference: LAPACK xTREVC3; Anderson, Robust triangular solves for use in condition estimation (LAWN 36, 1991).
func (v *Vectors[T]) To(to tridiag.Matrix[T]) {
	n := v.T.Rows
	if v.Left {
		v.flip()
	}
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
		clear(p.x)
		for r := b; r >= 0; r-- {
			lo, hi := v.edges[r], v.edges[r+1]
			p.rows(lo, hi)
			if lo > 0 {
				k.Gemm(blas.NoTrans, blas.NoTrans, lo, cols, hi-lo, -1, v.T.Data[lo:], v.T.Stride, p.x[lo*cols:], cols, 1, p.x, cols, work)
			}
		}
		p.normalize()
		from, row := 0, first // of Z and to
		if v.Left {
			p.flip()
			from, row = n-end, n-end
		}
		k.Gemm(blas.Trans, blas.NoTrans, cols, n, end, 1, p.x, cols, v.Z.Data[from*v.Z.Stride:], v.Z.Stride, 0,
			to.Data[row*to.Stride:], to.Stride, work)
	})
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

// solve computes the elements in row j, or rows j and j+1, of the vector in column q, or columns q and q+1 if it is complex. It multiplies the
// vector by a number less than 1 where elements might overflow otherwise.
func (p *solving[T]) solve(j, order, q int, pair bool) {
	t, k := &p.T, p.first+q
	value := complex(float64(t.Row(k)[k]), 0)
	if pair {
		value += complex(0, math.Sqrt(abs(t.Row(k)[k+1]))*math.Sqrt(abs(t.Row(k + 1)[k])))
	}
	at := func(r int) *T { return &p.x[(j+r)*p.cols+q] }
	var b [2]complex128
	for r := range order {
		b[r] = complex(float64(*at(r)), 0)
		if pair {
			b[r] += complex(0, float64(p.x[(j+r)*p.cols+q+1]))
		}
	}
	least := max(2*scalar.Eps[T]()*size(value), p.tiny)
	norm := p.norms[j]
	scale := 1.0
	if order == 1 {
		scale = p.divide(&b[0], complex(float64(t.Row(j)[j]), 0)-value, least)
	} else {
		norm = max(norm, p.norms[j+1])
		x, y := t.Row(j)[j:], t.Row(j + 1)[j:]
		a := [2][2]complex128{
			{complex(float64(x[0]), 0) - value, complex(float64(x[1]), 0)},
			{complex(float64(y[0]), 0), complex(float64(y[1]), 0) - value},
		}
		scale = p.eliminate(&a, &b, least)
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
	for r := range order {
		*at(r) = T(real(b[r]))
		if pair {
			p.x[(j+r)*p.cols+q+1] = T(imag(b[r]))
		}
	}
}

// size returns the sum of the magnitudes of both parts of x.
func size(x complex128) float64 { return math.Abs(real(x)) + math.Abs(imag(x)) }

// divide overwrites b with scale·b/a for an a of at least the size that is given, with a scale that keeps the quotient from overflow.
//
// Reference: LAPACK xLALN2.
func (p *solving[T]) divide(b *complex128, a complex128, least float64) (scale float64) {
	s := size(a)
	if s < least {
		a, s = complex(least, 0), least
	}
	scale = 1
	if most := size(*b); s < 1 && most > 1 && most > p.large*s {
		scale = 1 / most
		*b = complex(real(*b)*scale, imag(*b)*scale)
	}
	*b = quotient(*b, a)
	return scale
}

// eliminate overwrites b with scale·A⁻¹·b. Pivots are of at least the size that is given.
func (p *solving[T]) eliminate(a *[2][2]complex128, b *[2]complex128, least float64) (scale float64) {
	row, col, most := 0, 0, -1.0
	for r := range 2 {
		for c := range 2 {
			if s := size(a[r][c]); s > most {
				row, col, most = r, c, s
			}
		}
	}
	if most < least {
		x, y := least, max(size(b[0]), size(b[1]))
		scale = 1
		if x < 1 && y > 1 && y > p.large*x {
			scale = 1 / y
		}
		for r := range b {
			b[r] = complex(real(b[r])*scale/x, imag(b[r])*scale/x)
		}
		return scale
	}
	pivot, other := a[row][col], a[row][1-col]
	f := quotient(a[1-row][col], pivot)
	last := a[1-row][1-col] - f*other
	b0, b1 := b[row], b[1-row]
	b1 -= f * b0
	if size(last) < least {
		last = complex(least, 0)
	}
	scale = 1
	s := size(last)
	if y := max(size(b1), size(b0)*(s/most)); s < 1 && y > 1 && y >= p.large*s {
		scale = 1 / y
		b0, b1 = complex(real(b0)*scale, imag(b0)*scale), complex(real(b1)*scale, imag(b1)*scale)
	}
	x1 := quotient(b1, last)
	x0 := quotient(b0, pivot) - quotient(other, pivot)*x1
	b[col], b[1-col] = x0, x1
	return scale
}

// quotient returns a/b, without overflow in between.
func quotient(a, b complex128) complex128 {
	if imag(b) == 0 {
		return complex(real(a)/real(b), imag(a)/real(b))
	}
	if math.Abs(real(b)) >= math.Abs(imag(b)) {
		r := imag(b) / real(b)
		d := real(b) + imag(b)*r
		return complex((real(a)+imag(a)*r)/d, (imag(a)-real(a)*r)/d)
	}
	r := real(b) / imag(b)
	d := real(b)*r + imag(b)
	return complex((real(a)*r+imag(a))/d, (imag(a)*r-real(a))/d)
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
