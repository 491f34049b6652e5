package tridiag

import (
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
)

// Sterf overwrites d with the eigenvalues of T, in ascending order. d has n elements and e has n−1; e is overwritten.
// It is the QL iteration in the variant of Pal, Walker and Kahan, which works on the squares of e. Its inner loop takes
// no roots.
//
// Elements must be finite. If the iteration does not converge, the error is a *ConvergenceError, and the results are
// undefined.
//
// Reference: LAPACK xSTERF.
func Sterf[T scalar.Real](d, e []T) error {
	n := len(d)
	if n == 2 && !negligible(d, e, 0) {
		x, y, _, _ := laev2(d[0], e[0], d[1])
		d[0], d[1] = min(x, y), max(x, y)
		return nil
	}
	left := sweepsPerValue * n
	for first := 0; first < n; {
		last := first
		for last < n-1 && !negligible(d, e, last) {
			last++
		}
		if last > first {
			if err := squares(d[first:last+1], e[first:last], &left); err != nil {
				return err
			}
		}
		first = last + 1
	}
	slices.Sort(d)
	return nil
}

// squares overwrites d with the eigenvalues of a block in which no element of e is negligible. It makes at most *left
// sweeps, and subtracts their number.
func squares[T scalar.Real](d, e []T, left *int) error {
	scale := ScaleFor(d, e, Safe[T]())
	Multiply(d, scale)
	defer func() { Multiply(d, 1/scale) }()
	for i, x := range e {
		x *= scale
		e[i] = x * x
	}
	n := len(d)
	if abs(d[n-1]) < abs(d[0]) {
		slices.Reverse(d)
		slices.Reverse(e)
	}
	eps := T(2 * scalar.Eps[T]())
	tiny := T(scalar.SafeMin[T]())
	for l := 0; l < n; {
		m := l
		for m < n-1 && e[m] > eps*eps*abs(d[m])*abs(d[m+1])+tiny {
			m++
		}
		if m < n-1 {
			e[m] = 0
		}
		if m == l {
			l++
			continue
		}
		if *left--; *left < 0 {
			return &ConvergenceError{l, n}
		}
		p, root := d[l], T(math.Sqrt(float64(e[l])))
		shift := (d[l+1] - p) / (2 * root)
		shift = p - root/(shift+sign(hypot(shift, 1), shift))
		c, s := T(1), T(0)
		gamma := d[m] - shift
		p = gamma * gamma
		for i := m - 1; i >= l; i-- {
			b := e[i]
			r := p + b
			if i != m-1 {
				e[i+1] = s * r
			}
			before, cos := gamma, c
			// inverse is 1/c. Its quotient does not wait for c, so all three are computed at the same time,
			// and p needs no division after gamma.
			inverse := r / p
			c, s = p/r, b/r
			a := d[i]
			gamma = c*(a-shift) - s*before
			d[i+1] = before + (a - gamma)
			switch {
			case c > tiny: // so inverse has not overflowed
				p = gamma * gamma * inverse
			case c != 0:
				p = gamma * gamma / c
			default:
				p = cos * b
			}
		}
		e[l] = s * p
		d[l] = shift + gamma
	}
	return nil
}
