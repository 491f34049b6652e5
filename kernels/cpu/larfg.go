package cpu

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// leaf computes the QR factorization of the first k columns of p, no more than
// a narrow panel has, and their T. One pass over the rows applies reflector c
// and takes the inner products of what becomes of column c+1 with all columns,
//
//	dots = xᵀ·[x(0) … x(c) x a(c+2) …],
//
// which hold all that reflector c+1 needs: the norm of x, the update of the
// columns to its right, and the column of T from those to its left. The columns
// of V are multiplied by their factors only in the end.
func (ps panels[T]) leaf(p panel[T], k int) {
	// The rows where every column has an element, and the others.
	full, corner := panelRows[T]{p.a, p.lda, p.m, k}, p.a
	cornerRows := 0
	switch p.sh {
	case trapezoid:
		cornerRows = k
		full.a, full.m = from(p.a, k*p.lda), p.m-k
	case triangle:
		full.m = min(p.above, p.m)
		if cornerRows = min(k, p.m-p.above); cornerRows > 0 {
			corner = p.a[p.above*p.lda:]
		}
	}
	factors := rowVector[T]{}
	for j := range factors {
		factors[j] = 1
	}
	var dots, w, wf rowVector[T]
	ps.dots(full, 0, &dots)
	for c := range k {
		top := from(p.r, c*p.ldr)
		if p.sh == trapezoid {
			top = p.a[c*p.lda:]
		}
		top = top[:k]
		// The rows of the corner that have a part in column c.
		col := column[T]{full, corner, 0, min(cornerRows, c+1), p.lda, p.sh == triangle}
		if p.sh == trapezoid {
			col.lo, col.hi = c+1, cornerRows
		}
		for j := range c {
			dots[j] *= factors[j]
		}
		col.cornerProducts(c, k, &dots)

		tau, beta, factor := reflector(top[c], dots[c])
		ok := wellScaled(top[c], dots[c])
		if ok {
			ok = rightSide(c, k, tau, factor, top, &dots, &w, &wf)
		}
		if !ok {
			tau, beta = col.safeReflector(top[c], c)
			factor = 1
			ps.dots(full, c, &dots)
			for j := range c {
				dots[j] *= factors[j]
			}
			col.cornerProducts(c, k, &dots)
			rightSide(c, k, tau, factor, top, &dots, &w, &wf)
		}
		factors[c] = factor
		top[c] = beta
		for j := c + 1; j < k; j++ {
			top[j] -= w[j]
		}
		p.columnOfT(c, tau, factor, top, &dots)
		for i := col.lo; i < col.hi; i++ {
			row := corner[i*p.lda : i*p.lda+k]
			v := factor * row[c]
			row[c] = v
			for j := c + 1; j < k; j++ {
				row[j] -= v * w[j]
			}
		}
		if c+1 < k {
			ps.reflect(full, c, &wf, &dots)
		}
	}
	ps.scale(full, &factors)
}

// rightSide computes w, τ·vᵀ times the columns to the right of c, of which top
// is the first row, and wf, which is for x = v/factor instead of v. It reports
// whether all numbers are finite, and none has lost bits in an underflow that
// it would not have had with v.
func rightSide[T Element](c, k int, tau, factor T, top []T, dots, w, wf *rowVector[T]) (ok bool) {
	*w, *wf = rowVector[T]{}, rowVector[T]{}
	far, least := underflow[T]()
	size := magnitude(factor)
	var s T
	for j := range c {
		s += dots[j] - dots[j]
	}
	if tau == 0 {
		return s == 0
	}
	for j := c + 1; j < k; j++ {
		v := tau * (top[j] + factor*dots[j])
		w[j], wf[j] = v, v*factor
		s += wf[j] - wf[j]
		// The columns may be of very different sizes: with x much smaller than v
		// the product has underflowed, with x much larger the quotient.
		if size > far && magnitude(dots[j]) < least || size < 1/far && v != 0 && magnitude(wf[j]) < least {
			return false
		}
	}
	return s == 0
}

// underflow returns the factor between x and v up to which it makes no
// difference which of the two is multiplied by, as long as columns are not of
// numbers that hardly have bits left, and the magnitude from which on a sum of
// products has all bits that it should, whatever the factor.
func underflow[T Element]() (far, least T) {
	// In float64 the latter is far enough above the least number for sums of a million products.
	return T(scalar.Pick[T](0x1p10, 0x1p40)), T(scalar.Pick[T](0x1p-105, 0x1p-1000))
}

// panel is the columns of a matrix that become the columns of one V, from some
// column on.
type panel[T Element] struct {
	sh shape
	m  int // rows of a
	// above is, for a triangle, the number of rows above its diagonal.
	above int
	// a begins at the diagonal of a trapezoid, otherwise in the first row; r
	// begins at the diagonal of the triangle on top, unless a is a trapezoid.
	a   []T
	lda int
	r   []T
	ldr int
	// t begins on the diagonal of T.
	t   []T
	ldt int
}

// from returns the panel from column c on.
func (p panel[T]) from(c int) panel[T] {
	p.t = p.t[c*p.ldt+c:]
	if p.sh == trapezoid {
		p.m -= c
		p.a = p.a[c*p.lda+c:]
		return p
	}
	p.above += c
	p.a = from(p.a, c)
	p.r = from(p.r, c*p.ldr+c)
	return p
}

// columnOfT stores column c of T, −τ·T·(Vᵀ·v) above the diagonal.
func (p panel[T]) columnOfT(c int, tau, factor T, top []T, dots *rowVector[T]) {
	p.t[c*p.ldt+c] = tau
	if tau == 0 {
		for i := range c {
			p.t[i*p.ldt+c] = 0
		}
		return
	}
	var z rowVector[T]
	for j := range c {
		z[j] = factor * dots[j]
		if p.sh == trapezoid {
			z[j] += top[j]
		}
	}
	for i := range c {
		var s T
		for j, v := range p.t[i*p.ldt+i : i*p.ldt+c] {
			s += v * z[i+j]
		}
		p.t[i*p.ldt+c] = -tau * s
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
	most := scalar.Pick[T](0x1p30, 0x1p200)
	return 1/(most*most) <= d && d <= most*most && t <= most
}

// column is where the elements of a column of a panel are that its reflector
// is to annihilate: in all full rows, and in the rows from lo to hi of the
// corner.
type column[T Element] struct {
	full     panelRows[T]
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
	for i := range x.full.m {
		f(&x.full.a[i*x.lda+c])
	}
	for i := x.lo; i < x.hi; i++ {
		f(&x.corner[i*x.lda+c])
	}
}
