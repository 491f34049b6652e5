package cpu

import (
	"math"
	"unsafe"
)

// panels is what factors the narrow panels at which [QR] stops splitting.
type panels[T Element] struct {
	width int // columns at which it stops, at most maxPanel
}

const maxPanel = 16

// panelsOf returns the panels that go with r.
func panelsOf[T Element](r Routines[T]) panels[T] {
	return panels[T]{width: 8}
}

// rowVector is one element for each column of a narrow panel.
type rowVector[T Element] [maxPanel]T

// factor computes the QR factorization of the first k ≤ width columns of p,
// and their T. One pass over the rows applies reflector c and takes the inner
// products of what becomes of column c+1 with all columns,
//
//	dots = xᵀ·[v(0) … v(c) x a(c+2) …],
//
// which hold all that reflector c+1 needs: the norm of x, the update of the
// columns to its right, and the column of T from those to its left.
func (ps *panels[T]) factor(p panel[T], k int) {
	// The rows where every column has an element, and the others.
	full, corner := p.a, p.a
	fullRows, cornerRows := p.m, 0
	switch p.sh {
	case trapezoid:
		cornerRows = k
		full, fullRows = from(p.a, k*p.lda), p.m-k
	case triangle:
		fullRows = min(p.above, p.m)
		if cornerRows = min(k, p.m-p.above); cornerRows > 0 {
			corner = p.a[p.above*p.lda:]
		}
	}
	var dots, w rowVector[T]
	innerProducts(full, p.lda, fullRows, k, 0, &dots)
	for c := range k {
		top := from(p.r, c*p.ldr)
		if p.sh == trapezoid {
			top = p.a[c*p.lda:]
		}
		top = top[:k]
		// The rows of the corner that have a part in column c.
		lo, hi := 0, min(cornerRows, c+1)
		if p.sh == trapezoid {
			lo, hi = c+1, cornerRows
		}
		col := column[T]{full, fullRows, corner, lo, hi, p.lda, p.sh == triangle}
		col.cornerProducts(c, k, &dots)

		tau, beta, factor := reflector(top[c], dots[c])
		if !finiteVector(dots[:k]) || !wellScaled(top[c], dots[c]) {
			tau, beta = col.safeReflector(top[c], c)
			factor = 1
			col.products(c, k, &dots)
		}
		// w is τ·vᵀ times the columns to the right, z that times V.
		w = rowVector[T]{}
		if tau != 0 {
			for j := c + 1; j < k; j++ {
				w[j] = tau * (top[j] + factor*dots[j])
				top[j] -= w[j]
			}
		}
		top[c] = beta
		var z rowVector[T]
		for j := range c {
			z[j] = factor * dots[j]
			if p.sh == trapezoid {
				z[j] += top[j]
			}
		}
		for i := range c {
			var s T
			if tau != 0 {
				for j, v := range p.t[i*p.ldt+i : i*p.ldt+c] {
					s += v * z[i+j]
				}
			}
			p.t[i*p.ldt+c] = -tau * s
		}
		p.t[c*p.ldt+c] = tau

		for i := lo; i < hi; i++ {
			row := corner[i*p.lda : i*p.lda+k]
			v := factor * row[c]
			row[c] = v
			for j := c + 1; j < k; j++ {
				row[j] -= v * w[j]
			}
		}
		reflectRows(full, p.lda, fullRows, k, c, factor, &w, &dots)
	}
}

// reflector returns the elementary reflector for a vector of first element
// alpha and a rest x with xᵀ·x = dot,
//
//	H = I − tau·v·vᵀ,  H·[alpha; x] = [beta; 0],  v = [1; factor·x],
//
// if the numbers are [wellScaled]. Reference: LAPACK xLARFG.
func reflector[T Element](alpha, dot T) (tau, beta, factor T) {
	norm := T(math.Sqrt(float64(alpha*alpha + dot)))
	beta = -norm
	if alpha < 0 {
		beta = norm
	}
	return (beta - alpha) / beta, beta, 1 / (alpha - beta)
}

// wellScaled reports whether nothing over- or underflows in the squares that
// dot is the sum of, so that it could matter.
func wellScaled[T Element](alpha, dot T) bool {
	// Through float64, for a constant must fit both types.
	d, t := float64(dot), math.Abs(float64(alpha))
	if unsafe.Sizeof(alpha) == 4 {
		return 0x1p-60 <= d && d <= 0x1p60 && t <= 0x1p30
	}
	return 0x1p-400 <= d && d <= 0x1p400 && t <= 0x1p200
}

// finiteVector reports whether there is neither a NaN nor an infinity in x.
func finiteVector[T Element](x []T) bool {
	var s T
	for _, v := range x {
		s += v - v
	}
	return s == 0
}

// column is where the elements of a column of a panel are that its reflector
// is to annihilate: in all full rows, and in the rows from lo to hi of the
// corner.
type column[T Element] struct {
	full     []T
	rows     int
	corner   []T
	lo, hi   int
	lda      int
	triangle bool // row i of the corner begins at column i
}

// cornerProducts adds to dots the inner products of column c with all columns,
// as far as they come from the corner.
func (x column[T]) cornerProducts(c, k int, dots *rowVector[T]) {
	for i := x.lo; i < x.hi; i++ {
		row := x.corner[i*x.lda : i*x.lda+k]
		v, first := row[c], 0
		if x.triangle {
			first = i
		}
		for j := first; j < k; j++ {
			dots[j] += v * row[j]
		}
	}
}

// products computes the inner products of column c with all columns.
func (x column[T]) products(c, k int, dots *rowVector[T]) {
	innerProducts(x.full, x.lda, x.rows, k, c, dots)
	x.cornerProducts(c, k, dots)
}

// safeReflector is reflector for any numbers, with the elements of column c
// scaled by the largest of them. It overwrites them with v's. If all are zero,
// or none is there, tau is.
func (x column[T]) safeReflector(alpha T, c int) (tau, beta T) {
	size, zero := T(math.Abs(float64(alpha))), true
	x.each(c, func(v *T) {
		if *v != 0 {
			zero = false
		}
		if a := T(math.Abs(float64(*v))); !(a <= size) {
			size = a // a NaN comes, and may go: the sum below keeps it
		}
	})
	if zero {
		return 0, alpha
	}
	first := alpha / size
	sum := first * first
	x.each(c, func(v *T) {
		*v /= size
		sum += *v * *v
	})
	norm := T(math.Sqrt(float64(sum)))
	if first >= 0 {
		norm = -norm
	}
	factor := 1 / (first - norm)
	x.each(c, func(v *T) { *v *= factor })
	return (norm - first) / norm, norm * size
}

// each calls f for every element of column c.
func (x column[T]) each(c int, f func(v *T)) {
	for i := range x.rows {
		f(&x.full[i*x.lda+c])
	}
	for i := x.lo; i < x.hi; i++ {
		f(&x.corner[i*x.lda+c])
	}
}

// innerProducts computes the inner products of column c of the m×k matrix A
// with all its columns.
func innerProducts[T Element](a []T, lda, m, k, c int, dots *rowVector[T]) {
	*dots = rowVector[T]{}
	for i := range m {
		row := a[i*lda : i*lda+k]
		x := row[c]
		for j, v := range row {
			dots[j&(maxPanel-1)] += x * v
		}
	}
}

// reflectRows applies a reflector to the m×k matrix A, of which column c,
// times factor, is v: it subtracts v·w from the columns to the right, stores v,
// and computes the inner products of column c+1, if there is one.
func reflectRows[T Element](a []T, lda, m, k, c int, factor T, w, dots *rowVector[T]) {
	*dots = rowVector[T]{}
	for i := range m {
		row := a[i*lda : i*lda+k]
		v := factor * row[c]
		row[c] = v
		if c+1 == k {
			continue
		}
		for j := c + 1; j < k; j++ {
			row[j] -= v * w[j&(maxPanel-1)]
		}
		x := row[c+1]
		for j, y := range row {
			dots[j&(maxPanel-1)] += x * y
		}
	}
}
