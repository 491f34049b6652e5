package tridiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// merger is a [Merge] of two eigenproblems.
type merger[T scalar.Real] struct{ *Merge[T] }

// run does all steps of a merge. d holds the eigenvalues of the first half before cut, and those of the second half
// from cut on. Each half of sorted lists the rows of its half of q in ascending order of their eigenvalues, counted
// from the beginning of the half. q holds the eigenvectors of both halves, with zeros elsewhere; those of the second half
// begin in column split. q may lack columns, but not the two next to split. beta is the element of e between the halves.
// wanted is that of [Merge.Run].
func (m merger[T]) run(cut, split int, beta T, d []T, sorted []int32, q Matrix[T], work []T, wanted func() []int32) {
	m.Behind, m.Split = cut, split
	for i := range d {
		c := split
		if i < cut {
			c = split - 1
		}
		m.ByRow[i] = q.Data[i*q.Stride+c]
	}
	m.deflate(beta, d, sorted, q)
	m.Run(d, sorted, []Matrix[T]{q}, work, wanted, m.vector)
}

// deflate takes out the rows whose z is negligible. Where eigenvalues are so close that a rotation of their rows leaves
// D diagonal but for rounding, it does that rotation: it changes these d and these rows of q. ByRow holds the elements of
// the eigenvectors beside the cut.
func (m merger[T]) deflate(beta T, d []T, sorted []int32, q Matrix[T]) {
	z := m.ByRow
	m.MergeOrders(m.Behind, d, sorted)
	rho := 2 * abs(beta)
	var zmax, dmax T
	for i := range d {
		z[i] *= T(math.Sqrt2 / 2)
		m.Kinds[i] = Upper
		if i >= m.Behind {
			m.Kinds[i] = Lower
			if beta < 0 {
				z[i] = -z[i]
			}
		}
		zmax, dmax = max(zmax, abs(z[i])), max(dmax, abs(d[i]))
	}
	tol := 8 * T(scalar.Eps[T]()) * max(dmax, zmax)
	if rho*zmax <= tol {
		tol = T(math.Inf(1)) // all are deflated
	}
	last := -1 // the latest row that is not deflated; it becomes a pole unless the next row is close to it
	for _, o := range m.Order {
		r := int(o)
		switch {
		case rho*abs(z[r]) <= tol:
			m.Bury(r)
			continue
		case last < 0:
		case m.rotateClose(last, r, tol, d, z, q):
			m.Bury(last)
		default:
			m.Pole(last, d[last])
		}
		last = r
	}
	if last >= 0 {
		m.Pole(last, d[last])
	}
	m.EndDeflation(rho, d)
}

// rotateClose rotates rows p and r so that z(p) becomes 0, and reports true, if their eigenvalues are so close that the
// rotation leaves D diagonal within tol. Otherwise it changes nothing and reports false.
func (m merger[T]) rotateClose(p, r int, tol T, d, z []T, q Matrix[T]) bool {
	s, c := z[p], z[r]
	tau := hypot(c, s)
	t := d[r] - d[p]
	c, s = c/tau, -s/tau
	if abs(t*c*s) > tol {
		return false
	}
	z[r], z[p] = tau, 0
	if m.Kinds[r] != m.Kinds[p] {
		m.Kinds[r] = Both
	}
	Rotate(q.Row(p), q.Row(r), c, s)
	// Rounded in between, as processors of other kinds that work on the same merge do.
	d[p], d[r] = T(d[p]*c*c)+T(d[r]*s*s), T(d[p]*s*s)+T(d[r]*c*c)
	return true
}

// vector sets x to the eigenvector of D + ρ·z·zᵀ that has norm 1: see [Merge.Run].
func (m merger[T]) vector(_ int, diff, x []T) {
	m.Quotients(diff, diff)
	m.Normalize(diff, x)
}
