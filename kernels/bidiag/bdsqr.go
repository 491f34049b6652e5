package bidiag

import (
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// Matrix is a row-major matrix.
type Matrix[T scalar.Real] = tridiag.Matrix[T]

// sweepsPerValue is how many sweeps over all rows a singular value may take on average. LAPACK's xBDSQR allows 6.
const sweepsPerValue = 12

// Bdsqr overwrites d with the singular values of the n×n matrix B, in descending order. It multiplies u and v from
// the left by the matrices whose rows are the left and right singular vectors of B, so identities become the vectors.
// d has n elements and e has n−1; e is overwritten. u and v have n rows of any length. If both have no columns, a
// faster iteration finds the values. rotate may be nil. Small singular values have the same relative accuracy as large ones.
//
// Elements must be finite. If the iteration does not converge, the error is a *tridiag.ConvergenceError, and the
// results are undefined.
//
// Reference: LAPACK xBDSQR.
func Bdsqr[T scalar.Real](d, e []T, u, v Matrix[T], rotate tridiag.Rotations[T]) error {
	return bdsqr(d, e, u, v, make([]T, 4*len(d)), rotate)
}

// bdsqr is Bdsqr with memory for 4·n elements of rotations.
func bdsqr[T scalar.Real](d, e []T, u, v Matrix[T], work []T, rotate tridiag.Rotations[T]) error {
	n := len(d)
	if n == 0 || u.Cols == 0 && v.Cols == 0 && valuesAlone(d, e) {
		return nil
	}
	scale := tridiag.ScaleFor(d, e, tridiag.Safe[T]())
	tridiag.Multiply(d, scale)
	tridiag.Multiply(e, scale)
	s := sweepsOf(d, e)
	s.rotate, s.ofU, s.ofV = rotate, work[:2*n], work[2*n:4*n]
	err := s.solve(part[T]{d, e, rows[T]{u, 0, 1}, rows[T]{v, 0, 1}, false})
	for i, x := range d {
		if x < 0 || x == 0 && math.Signbit(float64(x)) {
			d[i] = -x
			negate(v.Row(i))
		}
	}
	tridiag.Multiply(d, 1/scale)
	sortRows(d, u, v)
	return err
}

// sweeps is the iteration for one matrix.
type sweeps[T scalar.Real] struct {
	tol    T   // relative accuracy of the values
	thresh T   // elements of at most this magnitude become zero, whatever their neighbours are
	left   int // how many rows the remaining sweeps may pass through, in total
	order  int // of the whole matrix

	rotate   tridiag.Rotations[T]
	ofU, ofV []T // scratch for the rotations of a sweep
}

// turn applies the rotations of a sweep.
func (s *sweeps[T]) turn(p part[T], ofU, ofV []T) {
	s.rotate.Apply(p.u.m, p.u.first, p.u.step, ofU)
	s.rotate.Apply(p.v.m, p.v.first, p.v.step, ofV)
}

// sweepsOf returns the iteration for a matrix. Its thresh is tol times a lower bound on the least singular value,
// divided by √n as in LAPACK's xBDSQR, or 6·n² times the least normal number if that is more.
func sweepsOf[T scalar.Real](d, e []T) sweeps[T] {
	n := len(d)
	eps := scalar.Eps[T]()
	tol := T(eps * scalar.Pick[T](10, 98.70149282610239)) // ε^(7/8) for float64, as LAPACK has it
	mu := abs(d[0])
	least := mu
	for i, x := range e {
		if least == 0 {
			break
		}
		mu = abs(d[i+1]) * (mu / (mu + abs(x)))
		least = min(least, mu)
	}
	return sweeps[T]{
		tol:    tol,
		thresh: max(tol*T(float64(least)/math.Sqrt(float64(n))), T(6*float64(n)*float64(n)*scalar.SafeMin[T]())),
		left:   sweepsPerValue * n * n,
		order:  n,
	}
}

// rows is the rows first, first+step, first+2·step … of a matrix.
type rows[T scalar.Real] struct {
	m           Matrix[T]
	first, step int
}

// from returns the rows from row i on.
func (r rows[T]) from(i int) rows[T] { return rows[T]{r.m, r.first + r.step*i, r.step} }

// reversed returns the n rows from the last to the first.
func (r rows[T]) reversed(n int) rows[T] { return rows[T]{r.m, r.first + r.step*(n-1), -r.step} }

// part is a diagonal block of B with the rows of u and v that belong to it. It may instead be a block of Bᵀ with its
// rows and columns in reverse order, which is upper bidiagonal, too. u and v are exchanged then.
type part[T scalar.Real] struct {
	d, e     []T
	u, v     rows[T]
	reversed bool
}

// solve makes the elements of p.e zero. It splits p where an element is negligible, and makes a sweep if none is.
func (s *sweeps[T]) solve(p part[T]) error {
	n := len(p.d)
	if n < 2 {
		return nil
	}
	if abs(p.d[0]) < abs(p.d[n-1]) { // so that sweeps go from large elements to small ones
		slices.Reverse(p.d)
		slices.Reverse(p.e)
		defer slices.Reverse(p.d)
		p.u, p.v, p.reversed = p.v.reversed(n), p.u.reversed(n), !p.reversed
	}
	for len(p.d) > 1 {
		n := len(p.d)
		if n == 2 && abs(p.e[0]) > s.thresh && abs(p.d[0]) > s.thresh && abs(p.d[1]) > s.thresh {
			p.pair(s)
			return nil
		}
		if i, least, most := s.split(p); i >= 0 {
			p.e[i] = 0
			if i == n-2 {
				p.d, p.e = p.d[:n-1], p.e[:n-2]
				continue
			}
			if err := s.solve(part[T]{p.d[:i+1], p.e[:i], p.u, p.v, p.reversed}); err != nil {
				return err
			}
			return s.solve(part[T]{p.d[i+1:], p.e[i+1:], p.u.from(i + 1), p.v.from(i + 1), p.reversed})
		} else if s.left -= n - 1; s.left < 0 {
			return &tridiag.ConvergenceError{Found: 0, Order: s.order}
		} else if shift := s.shift(p, least, most); shift == 0 {
			p.zeroShift(s)
		} else {
			p.shifted(s, shift)
		}
	}
	return nil
}

// split returns the index of an element of e that is zero, or so small that the values keep their accuracy without
// it. If there is none, it returns −1, a lower bound on the least singular value, and the largest magnitude in p. It first
// sets elements of d that are at most thresh to zero.
//
// The bound is the least of the numbers μ(0) = |d(0)|, μ(i+1) = |d(i+1)|·μ(i)/(μ(i)+|e(i)|). Their reciprocals take one
// division each that does not wait for the one before.
func (s *sweeps[T]) split(p part[T]) (i int, least, most T) {
	d, e, thresh, tol := p.d, p.e, s.thresh, s.tol
	last := len(e) - 1
	if abs(d[last+1]) <= thresh {
		d[last+1] = 0
	}
	if abs(e[last]) <= tol*abs(d[last+1]) {
		return last, 0, 0
	}
	size := abs(d[0])
	if size <= thresh {
		size, d[0] = 0, 0
	}
	most = size
	inverse := 1 / size // of μ(i)
	top, zero, small := inverse, -1, -1
	for i, x := range e {
		x = abs(x)
		if x <= thresh {
			zero = i
		}
		if x*inverse <= tol && small < 0 {
			small = i
		}
		size = abs(d[i+1])
		if size <= thresh {
			size, d[i+1] = 0, 0
		}
		inverse = (1 + x*inverse) * (1 / size)
		top, most = max(top, inverse), max(most, x, size)
	}
	if zero < 0 {
		zero = small
	}
	return zero, 1 / top, most
}

// shift returns the shift of the next sweep: the lesser singular value of the last 2×2 block. It returns 0 if that
// shift would cost a small singular value its accuracy, or would make no difference.
func (s *sweeps[T]) shift(p part[T], least, most T) T {
	n := len(p.d)
	eps := T(scalar.Eps[T]())
	if T(s.order)*s.tol*(least/most) <= max(eps, s.tol/100) {
		return 0
	}
	shift := lesser(abs(p.d[n-2]), abs(p.e[n-2]), abs(p.d[n-1]))
	if q := shift / abs(p.d[0]); q*q < eps {
		return 0
	}
	return shift
}

// pair makes a part of two rows diagonal.
func (p part[T]) pair(s *sweeps[T]) {
	first, second := &p.d[0], &p.d[1]
	if p.reversed { // so that vectors get the signs that they have in LAPACK
		first, second, p.u, p.v = second, first, p.v.reversed(2), p.u.reversed(2)
	}
	var left, right rotation
	*first, *second, left, right = lasv2(*first, p.e[0], *second)
	p.e[0] = 0
	s.turn(p, append(s.ofU[:0], T(left.c), T(left.s)), append(s.ofV[:0], T(right.c), T(right.s)))
}

// zeroShift makes a sweep without a shift. It subtracts nothing, so small singular values keep their accuracy.
func (p part[T]) zeroShift(t *sweeps[T]) {
	d, e := p.d, p.e
	last := len(d) - 1
	c, cu, su := T(1), T(1), T(0)
	ofU, ofV := t.ofU[:0], t.ofV[:0]
	for i := range last {
		var s, r T
		c, s, r = tridiag.Rotation(d[i]*c, e[i])
		if i > 0 {
			e[i-1] = su * r
		}
		ofV = append(ofV, c, s)
		cu, su, d[i] = tridiag.Rotation(cu*r, d[i+1]*s)
		ofU = append(ofU, cu, su)
	}
	h := d[last] * c
	d[last], e[last-1] = h*cu, h*su
	t.turn(p, ofU, ofV)
}

// shifted makes a sweep with a shift.
func (p part[T]) shifted(t *sweeps[T], shift T) {
	d, e := p.d, p.e
	last := len(d) - 1
	f := (abs(d[0]) - shift) * (sign(1, d[0]) + shift/d[0])
	g := e[0]
	ofU, ofV := t.ofU[:0], t.ofV[:0]
	for i := range last {
		c, s, r := tridiag.Rotation(f, g)
		if i > 0 {
			e[i-1] = r
		}
		ofV = append(ofV, c, s)
		f, e[i] = c*d[i]+s*e[i], c*e[i]-s*d[i]
		g, d[i+1] = s*d[i+1], c*d[i+1]
		c, s, d[i] = tridiag.Rotation(f, g)
		ofU = append(ofU, c, s)
		f, d[i+1] = c*e[i]+s*d[i+1], c*d[i+1]-s*e[i]
		if i < last-1 {
			g, e[i+1] = s*e[i+1], c*e[i+1]
		}
	}
	e[last-1] = f
	t.turn(p, ofU, ofV)
}

// lesser returns the lesser singular value of the matrix (f g; 0 h), whose elements are not negative. It is accurate
// to a few units in the last place.
//
// Reference: LAPACK xLAS2.
func lesser[T scalar.Real](f, g, h T) T {
	a, b := min(f, h), max(f, h)
	root := func(x T) T { return T(math.Sqrt(float64(x))) }
	switch {
	case a == 0:
		return 0
	case g < b:
		as, at, au := 1+a/b, (b-a)/b, (g/b)*(g/b)
		return a * (2 / (root(as*as+au) + root(at*at+au)))
	}
	au := b / g
	if au == 0 {
		return a * b / g
	}
	as, at := (1+a/b)*au, (b-a)/b*au
	return 2 * (a * (1 / (root(1+as*as) + root(1+at*at)))) * au
}

// sortRows sorts d in descending order and moves the rows of u and v with it.
func sortRows[T scalar.Real](d []T, u, v Matrix[T]) {
	if u.Cols == 0 && v.Cols == 0 {
		slices.Sort(d)
		slices.Reverse(d)
		return
	}
	for i := range d {
		k := i
		for j := i + 1; j < len(d); j++ {
			if d[j] > d[k] {
				k = j
			}
		}
		if k != i {
			d[i], d[k] = d[k], d[i]
			tridiag.Swap(u.Row(i), u.Row(k))
			tridiag.Swap(v.Row(i), v.Row(k))
		}
	}
}
