package bidiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// merge is a [tridiag.Merge] that solves a problem whose two parts are solved, with the row between them. The values
// are the poles; the first pole is 0.
type merge[T scalar.Real] struct{ *tridiag.Merge[T] }

// run does all steps. It overwrites d with the singular values, the rows of u and v with the vectors, and sorted with
// the rows in ascending order of their values.
//
// On entry, d holds the values of the first part before cut and those of the second part behind it; d[cut] is α and
// e[cut] is β. Each half of sorted lists the rows of its part in ascending order of their values, counted from the
// beginning of the part. u is n×n and v is square, of order n or n+1. Row cut of u is a unit vector, and row cut of v
// is the first part's vector of the null space. wanted is that of [tridiag.Merge.Run]; values times by are in the units
// of the values on entry.
func (m merge[T]) run(cut int, d, e []T, sorted []int32, u, v Matrix[T], work []T, wanted func(by T) []int32) {
	m.Behind, m.Split, m.Squares = cut+1, cut+1, true
	// Scaled, so that the squares of small elements do not underflow.
	most := max(abs(d[cut]), abs(e[cut]))
	for i, x := range d {
		if i != cut {
			most = max(most, x)
		}
	}
	scale := tridiag.Scale[T](float64(most), 1)
	tridiag.Multiply(d, scale)
	m.deflate(e[cut]*scale, most*scale, d, sorted, u, v)
	var rows func() []int32
	if wanted != nil {
		rows = func() []int32 { return wanted(1 / scale) }
	}
	m.Run(d, sorted, []Matrix[T]{u, v}, work, rows, m.vector)
	tridiag.Multiply(d, 1/scale)
}

// deflate takes out the rows whose z is negligible. A rotation can make z negligible in two more cases: two rows with
// close values are rotated in u and v, and a row with a negligible value is rotated with row cut, in v alone. norm is
// about the largest element of M.
func (m merge[T]) deflate(beta, norm T, d []T, sorted []int32, u, v Matrix[T]) {
	cut, n, z := m.Behind-1, m.N, m.ByRow
	alpha := d[cut]
	tol := 64 * T(scalar.Eps[T]()) * norm
	for i := range n {
		if i < cut {
			m.Kinds[i], z[i] = tridiag.Upper, alpha*v.Row(i)[cut]
		} else if i > cut {
			m.Kinds[i], z[i] = tridiag.Lower, beta*v.Row(i)[cut+1]
		}
	}
	m.Kinds[cut] = tridiag.Both
	m.MergeOrders(cut, d, sorted)
	z[cut] = m.joinNullSpaces(alpha, beta, v)
	last := -1    // the latest row that is not deflated; it becomes a pole unless the next row is close to it
	first := true // row cut, the first pole, is still to come
	for _, o := range m.Order {
		r := int(o)
		switch {
		case abs(z[r]) <= tol:
			m.Bury(r)
		case d[r] <= tol:
			// A rotation of both columns of (z(cut) z(r); 0 d(r)) makes z(r) zero. Of the second row it
			// leaves c·d(r), and an element that is negligible.
			c, s, x := tridiag.Rotation(z[cut], z[r])
			tridiag.Rotate(v.Row(cut), v.Row(r), c, s)
			if z[cut] = x; x < 0 {
				z[cut] = -x
				negate(v.Row(cut))
			}
			d[r] *= c
			if d[r] < 0 {
				d[r] = -d[r]
				negate(u.Row(r))
			}
			m.Bury(r)
		case last >= 0 && d[r]-d[last] <= tol:
			x := hypot(z[r], z[last])
			c, s := z[r]/x, -z[last]/x
			tridiag.Rotate(u.Row(last), u.Row(r), c, s)
			tridiag.Rotate(v.Row(last), v.Row(r), c, s)
			z[r] = x
			if m.Kinds[r] != m.Kinds[last] {
				m.Kinds[r] = tridiag.Both
			}
			m.Bury(last)
			last = r
		default:
			if first {
				first = false
				m.Pole(cut, 0)
			}
			if last >= 0 {
				m.Pole(last, d[last])
			}
			last = r
		}
	}
	if first {
		m.Pole(cut, 0)
	}
	if last >= 0 {
		m.Pole(last, d[last])
	}
	if m.K > 1 {
		// The secular equation needs a weight that is not zero. This one is far below tol.
		z[cut] = max(z[cut], tol*T(scalar.Eps[T]()))
	}
	m.EndDeflation(1, d)
}

// joinNullSpaces returns z(cut), which is not negative. If both parts have a vector of the null space, it rotates the
// two so that row cut takes over the elements of both, and that of the second part becomes zero.
func (m merge[T]) joinNullSpaces(alpha, beta T, v Matrix[T]) T {
	cut := m.Behind - 1
	x := v.Row(cut)
	a := alpha * x[cut]
	if v.Rows > m.N {
		y := v.Row(m.N)
		b := beta * y[m.Behind]
		r := hypot(a, b)
		if r > 0 {
			tridiag.Rotate(x, y, a/r, b/r)
		}
		return r
	}
	if a < 0 {
		negate(x)
	}
	return abs(a)
}

// vector sets x to the left (side 0) or the right singular vector of M that has norm 1: see [tridiag.Merge.Run].
func (m merge[T]) vector(side int, diff, x []T) {
	if m.K == 1 {
		x[0] = 1
		return
	}
	m.Quotients(diff, diff)
	if side == 0 {
		for i, d := range m.Poles[:m.K] {
			diff[i] *= d
		}
		diff[0] = -1
	}
	m.Normalize(diff, x)
}

// hypot returns √(a²+b²). It neither overflows nor underflows in between.
func hypot[T scalar.Real](a, b T) T { return T(math.Hypot(float64(a), float64(b))) }
