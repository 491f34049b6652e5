package schur

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// order returns the order of the block of a Schur form whose first row is i.
func (t *Iteration[T]) order(i int) int {
	if i < t.H.Rows-1 && t.H.Row(i + 1)[i] != 0 {
		return 2
	}
	return 1
}

// move moves the block of a Schur form whose first row is i up to row to, by exchanges with those before it. It returns
// the row at which the block has arrived, and whether no exchange has failed.
//
// Reference: LAPACK xTREXC.
func (t *Iteration[T]) move(i, to int) (at int, ok bool) {
	for n := t.order(i); i > to; {
		if n == 2 && t.order(i) == 1 { // an exchange has taken the block apart
			if at, ok = t.move(i, to); ok {
				_, ok = t.move(i+1, at+1)
			}
			return at, ok
		}
		before := 1
		if i >= 2 {
			before = t.order(i - 2)
		}
		if !t.exchange(i-before, before, n) {
			return i, false
		}
		i -= before
	}
	return i, true
}

// exchange exchanges the blocks of orders n1 and n2 of a Schur form that begin in rows i and i+n1. It reports false,
// and leaves them, if they are so near to each other that the exchange would not be accurate.
//
// Reference: LAPACK xLAEXC; Bai and Demmel, On swapping diagonal blocks in real Schur form (1993).
func (t *Iteration[T]) exchange(i, n1, n2 int) bool {
	if n1 == 1 && n2 == 1 {
		x := t.block(i)
		c, s, _ := tridiag.Rotation(x.b, x.d-x.a)
		t.rotate(i, i+2, i, T(c), T(s))
		t.H.Row(i)[i], t.H.Row(i + 1)[i+1] = T(x.d), T(x.a)
		t.Kernels.Rot(t.Z.Row(i), t.Z.Row(i+1), T(c), T(s))
		return true
	}
	n := n1 + n2
	var d square
	most := 0.0
	for r := range n {
		for c, x := range t.H.Row(i + r)[i : i+n] {
			d[r][c] = float64(x)
			most = max(most, math.Abs(d[r][c]))
		}
	}
	floor := scalar.SafeMin[T]() / t.eps
	// The columns of (−X, scale·I)ᵀ span the space of the second block, where T11·X − X·T22 = scale·T12.
	x, scale := sylvester(&d, n1, n2, max(t.eps*most, floor))
	var basis square
	for c := range n2 {
		for r := range n1 {
			basis[r][c] = -x[r][c]
		}
		basis[n1+c][c] = scale
	}
	var q [2]reflector // of three rows, those from 0 and from 1 on
	trial := d
	for c := range n2 {
		q[c], _ = annihilate(basis[c][c], basis[c+1][c], basis[min(c+2, 3)][c]) // zero if there is no such row
		if c == 0 {
			basis.left(0, q[0])
		}
		trial.left(c, q[c])
		trial.right(c, q[c])
	}
	left := 0.0
	for r := n2; r < n; r++ {
		for c := range n2 {
			left = max(left, math.Abs(trial[r][c]))
		}
	}
	if n1 == 1 {
		left = max(left, math.Abs(trial[n2][n2]-d[0][0]))
	}
	if n2 == 1 {
		left = max(left, math.Abs(trial[0][0]-d[n1][n1]))
	}
	if !(left <= max(10*t.eps*most, floor)) {
		return false
	}
	for c := range n2 {
		t.reflectAt(i+c, min(3, n-c), i, i+n, factors[T](q[c]))
	}
	for r := n2; r < n; r++ {
		clear(t.H.Row(i + r)[i : i+n2])
	}
	if n1 == 1 {
		t.H.Row(i + n2)[i+n2] = T(d[0][0])
	} else {
		t.standardizeAt(i + n2)
	}
	if n2 == 1 {
		t.H.Row(i)[i] = T(d[n1][n1])
	} else {
		t.standardizeAt(i)
	}
	return true
}

// reflectAt applies a reflector to rows and columns i to i+n−1, where n is 2 or 3, of H from column from and before row
// to, and to those rows of Z.
func (t *Iteration[T]) reflectAt(i, n, from, to int, f *[5]T) {
	h, z := &t.H, &t.Z
	if n == 2 {
		reflect2(h.Row(i)[from:], h.Row(i + 1)[from:], f)
		columns2(h.Data[i:], h.Stride, to, f)
		reflect2(z.Row(i), z.Row(i+1), f)
		return
	}
	t.Kernels.Reflect(h.Row(i)[from:], h.Row(i + 1)[from:], h.Row(i + 2)[from:], f)
	columns3(h.Data[i:], h.Stride, to, f)
	t.Kernels.Reflect(z.Row(i), z.Row(i+1), z.Row(i+2), f)
}

// square is a matrix of order 4 or less.
type square [4][4]float64

// left multiplies x from the left by a reflector of rows i to i+2, or i and i+1 if that is the last one.
func (x *square) left(i int, h reflector) {
	for c := range 4 {
		s := h.tau * (x[i][c] + h.v1*x[i+1][c] + h.v2*x[min(i+2, 3)][c])
		x[i][c] -= s
		x[i+1][c] -= s * h.v1
		x[min(i+2, 3)][c] -= s * h.v2
	}
}

// right multiplies x from the right by a reflector.
func (x *square) right(i int, h reflector) {
	for r := range x {
		s := h.tau * (x[r][i] + h.v1*x[r][i+1] + h.v2*x[r][min(i+2, 3)])
		x[r][i] -= s
		x[r][i+1] -= s * h.v1
		x[r][min(i+2, 3)] -= s * h.v2
	}
}

// sylvester solves T11·X − X·T22 = scale·T12 for the blocks of orders n1 and n2 on d's diagonal, and scale ≤ 1 such
// that X does not overflow. A pivot of less than least counts as that.
//
// Reference: LAPACK xLASY2.
func sylvester(d *square, n1, n2 int, least float64) (x square, scale float64) {
	var a square
	var b [4]float64
	for r := range n1 {
		for c := range n2 {
			k := r*n2 + c
			b[k] = d[r][n1+c]
			for q := range n1 {
				a[k][q*n2+c] += d[r][q]
			}
			for q := range n2 {
				a[k][r*n2+q] -= d[n1+q][n1+c]
			}
		}
	}
	scale = solve(n1*n2, &a, &b, least)
	for r := range n1 {
		copy(x[r][:], b[r*n2:][:n2])
	}
	return x, scale
}

// solve overwrites the first n elements of b with scale·A⁻¹·b, by elimination with complete pivoting. A pivot of less
// than least counts as that. scale is 1, or so much less that the solution does not overflow.
func solve(n int, a *square, b *[4]float64, least float64) (scale float64) {
	var order [4]int // of the unknowns
	for k := range n {
		order[k] = k
	}
	for k := range n {
		p, q, most := k, k, -1.0
		for r := k; r < n; r++ {
			for c := k; c < n; c++ {
				if m := math.Abs(a[r][c]); m > most {
					p, q, most = r, c, m
				}
			}
		}
		a[k], a[p], b[k], b[p] = a[p], a[k], b[p], b[k]
		order[k], order[q] = order[q], order[k]
		for r := range n {
			a[r][k], a[r][q] = a[r][q], a[r][k]
		}
		if most < least {
			a[k][k] = least
		}
		for r := k + 1; r < n; r++ {
			f := a[r][k] / a[k][k]
			for c := k + 1; c < n; c++ {
				a[r][c] -= f * a[k][c]
			}
			b[r] -= f * b[k]
		}
	}
	scale = 1
	most, least := 0.0, math.Inf(1)
	for k := range n {
		most, least = max(most, math.Abs(b[k])), min(least, math.Abs(a[k][k]))
	}
	if least < 1 && most > least*0x1p1000/8 {
		scale = 0.5 / most
		for k := range n {
			b[k] *= scale
		}
	}
	var x [4]float64
	for k := n - 1; k >= 0; k-- {
		s := b[k]
		for c := k + 1; c < n; c++ {
			s -= a[k][c] * x[order[c]]
		}
		x[order[k]] = s / a[k][k]
	}
	*b = x
	return scale
}
