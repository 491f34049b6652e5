package tridiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// Merge makes one eigenproblem of order N of two halves that are solved. The first half has order Cut:
//
//	Deflate, Pack ─► Roots, Factors ─► Weights, Order ─► Vectors, Product ─► Finish
//	     one             by rows             one               by rows         one
//
// Deflate leaves K rows, the poles. Steps by rows work on rows lo to hi−1 of these. Units may work on different rows at
// the same time.
type Merge[T scalar.Real] struct {
	Cut, N int
	K      int // eigenvalues that are not deflated

	// These have K elements, one for each pole.
	poles, z []T     // poles are ascending
	weights  []T     // ρ·z²; after Weights, the vector z for which the computed roots are exact, times √ρ
	lambda   []T     // roots
	column   []int32 // the column of S that holds a pole's elements

	// These have N elements.
	rows  []int32 // the rows of Q that poles belong to, then the deflated rows, each in ascending order of d
	kinds []kind  // of the rows of Q
	order []int32 // scratch: rows of Q in ascending order of their eigenvalues

	counts [3]int // poles of each kind
}

// kind says in which half a row of Q may have elements that are not zero.
type kind uint8

const (
	upper    kind = iota // columns 0 … Cut−1
	both                 // all
	lower                // columns Cut … N−1
	deflated             // the row is an eigenvector already
)

// newMerge returns a Merge for orders up to n.
func newMerge[T scalar.Real](n int) *Merge[T] {
	f, i := make([]T, 4*n), make([]int32, 3*n)
	return &Merge[T]{
		poles: f[:n], z: f[n : 2*n], weights: f[2*n : 3*n], lambda: f[3*n:],
		rows: i[:n], column: i[n : 2*n], order: i[2*n:], kinds: make([]kind, n),
	}
}

// Deflate begins a merge. d holds the eigenvalues of the first half before cut, and those of the second half from cut
// on. Each half of sorted lists the rows of its half of q in ascending order of their eigenvalues, counted from the
// beginning of the half. q is n×n and holds the eigenvectors of both halves, with zeros elsewhere. beta is the element
// of e between the halves.
//
// Where eigenvalues are so close that a rotation of their rows leaves D diagonal but for rounding, Deflate does that
// rotation: it changes these d and these rows of q.
func (m *Merge[T]) Deflate(cut int, beta T, d []T, sorted []int32, q Matrix[T]) {
	n := len(d)
	m.Cut, m.N, m.K = cut, n, 0
	m.counts = [3]int{}
	z := m.z[:n] // by rows of q, until arrange
	m.mergeOrders(d, sorted)
	rho := 2 * abs(beta)
	var zmax, dmax T
	for i := range n {
		if i < cut {
			m.kinds[i] = upper
			z[i] = q.Data[i*q.Stride+cut-1] * T(math.Sqrt2/2)
		} else {
			m.kinds[i] = lower
			z[i] = q.Data[i*q.Stride+cut] * T(math.Sqrt2/2)
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
	dead := m.column[:0:n] // deflated rows, in the order in which this loop finds them
	last := int32(-1)      // the latest row that is not deflated; it becomes a pole unless the next row is close to it
	for _, r := range m.order[:n] {
		switch {
		case rho*abs(z[r]) <= tol:
			m.kinds[r] = deflated
			dead = append(dead, r)
		case last < 0:
			last = r
		case m.rotateClose(last, r, tol, d, z, q):
			dead = append(dead, last)
			last = r
		default:
			m.pole(last, d, z)
			last = r
		}
	}
	if last >= 0 {
		m.pole(last, d, z)
	}
	// Deflated rows follow the poles, sorted by insertion. They are almost in order.
	end := m.K
	for _, r := range dead {
		i := end
		for ; i > m.K && d[m.rows[i-1]] > d[r]; i-- {
			m.rows[i] = m.rows[i-1]
		}
		m.rows[i] = r
		end++
	}
	m.arrange(rho, z)
}

// mergeOrders merges the two halves of sorted into order, which then has all rows in ascending order.
func (m *Merge[T]) mergeOrders(d []T, sorted []int32) {
	a, b := sorted[:m.Cut], sorted[m.Cut:]
	for i := range m.order[:m.N] {
		if len(b) == 0 || len(a) > 0 && d[a[0]] <= d[int(b[0])+m.Cut] {
			m.order[i], a = a[0], a[1:]
		} else {
			m.order[i], b = b[0]+int32(m.Cut), b[1:]
		}
	}
}

// rotateClose rotates rows p and r so that z(p) becomes 0, and reports true, if their eigenvalues are so close that the
// rotation leaves D diagonal within tol. Otherwise it changes nothing and reports false.
func (m *Merge[T]) rotateClose(p, r int32, tol T, d, z []T, q Matrix[T]) bool {
	s, c := z[p], z[r]
	tau := hypot(c, s)
	t := d[r] - d[p]
	c, s = c/tau, -s/tau
	if abs(t*c*s) > tol {
		return false
	}
	z[r], z[p] = tau, 0
	if m.kinds[r] != m.kinds[p] {
		m.kinds[r] = both
	}
	m.kinds[p] = deflated
	Rotate(q.Row(int(p)), q.Row(int(r)), c, s)
	d[p], d[r] = d[p]*c*c+d[r]*s*s, d[p]*s*s+d[r]*c*c
	return true
}

// pole makes row r the next pole.
func (m *Merge[T]) pole(r int32, d, z []T) {
	m.rows[m.K], m.poles[m.K] = r, d[r]
	m.counts[m.kinds[r]]++
	m.K++
}

// arrange gives each pole a column of S. Columns of a kind are side by side, so that S·Q is two products without the
// zeros of Q. arrange also brings z into the order of the poles, and sets the weights to ρ·z².
func (m *Merge[T]) arrange(rho T, z []T) {
	next := [3]int{0, m.counts[upper], m.counts[upper] + m.counts[both]}
	for i, r := range m.rows[:m.K] {
		k := m.kinds[r]
		m.column[i] = int32(next[k])
		next[k]++
		m.weights[i] = z[r]
	}
	for i, x := range m.weights[:m.K] {
		m.z[i], m.weights[i] = x, rho*x*x
	}
}

// Pack copies the poles' rows of q to top and bottom: columns 0 … Cut−1 of the kinds upper and both to top, and the
// other columns of the kinds both and lower to bottom. It copies the deflated rows to dead, which is (N−K)×N.
// [Merge.Sizes] returns the rows of top and bottom.
func (m *Merge[T]) Pack(q, top, bottom, dead Matrix[T]) {
	first := m.counts[upper]
	for i, r := range m.rows[:m.K] {
		k, c := m.kinds[r], int(m.column[i])
		if k != lower {
			copy(top.Row(c), q.Row(int(r)))
		}
		if k != upper {
			copy(bottom.Row(c-first), q.Row(int(r))[m.Cut:])
		}
	}
	for i, r := range m.rows[m.K:m.N] {
		copy(dead.Row(i), q.Row(int(r)))
	}
}

// Sizes returns the numbers of rows of top and bottom, as [Merge.Pack] fills them.
func (m *Merge[T]) Sizes() (top, bottom int) {
	return m.counts[upper] + m.counts[both], m.counts[both] + m.counts[lower]
}

// Roots computes roots lo to hi−1 of the secular equation, and sets element i of row j of s to d(i)−λ(j). s is K×K.
func (m *Merge[T]) Roots(lo, hi int, s Matrix[T]) {
	q := &secular[T]{d: m.poles[:m.K], zz: m.weights[:m.K]}
	for j := lo; j < hi; j++ {
		m.lambda[j] = q.root(j, s.Row(j))
	}
}

// Factors multiplies w, of length K, by the factors that rows lo to hi−1 of s contribute to the weights for which the
// computed roots are exact:
//
//	w(i) ·= Π (d(i)−λ(j))/(d(i)−d(j)) for j = lo … hi−1, without the divisor where j = i.
func (m *Merge[T]) Factors(lo, hi int, s Matrix[T], w []T) {
	d := m.poles[:m.K]
	w = w[:m.K]
	for j := lo; j < hi; j++ {
		x, dj := s.Row(j)[:len(d)], d[j]
		for i := range j {
			w[i] *= x[i] / (d[i] - dj)
		}
		w[j] *= x[j]
		for i := j + 1; i < len(d); i++ {
			w[i] *= x[i] / (d[i] - dj)
		}
	}
}

// Weights sets the weights to the square roots of w, the product of all factors, with the signs of z.
func (m *Merge[T]) Weights(w []T) {
	for i := range m.weights[:m.K] {
		m.weights[i] = sign(T(math.Sqrt(math.Abs(float64(w[i])))), m.z[i])
	}
}

// Vectors overwrites rows lo to hi−1 of s, which hold what Roots computed, with eigenvectors of D + ρ·z·zᵀ. They have
// norm 1, and their elements are in the order of the poles' columns. scratch has length K or more.
func (m *Merge[T]) Vectors(lo, hi int, s Matrix[T], scratch []T) {
	scratch = scratch[:m.K]
	for j := lo; j < hi; j++ {
		x := s.Row(j)
		var sum float64
		for i, w := range m.weights[:m.K] {
			v := w / x[i]
			scratch[i] = v
			sum += float64(v) * float64(v)
		}
		norm := T(1 / math.Sqrt(sum))
		for i, c := range m.column[:m.K] {
			x[c] = scratch[i] * norm
		}
	}
}

// gemm is [Product.Mul] bound to its scratch.
type gemm[T scalar.Real] func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int)

// Product sets rows lo to hi−1 of q to the product of these rows of s and the rows that Pack copied.
func (m *Merge[T]) Product(lo, hi int, s, top, bottom, q Matrix[T], mul gemm[T]) {
	if lo >= hi {
		return
	}
	a, b := m.Sizes()
	rows := hi - lo
	product(rows, m.Cut, a, s.Block(lo, 0, rows, a), top, q.Block(lo, 0, rows, m.Cut), mul)
	product(rows, m.N-m.Cut, b, s.Block(lo, m.counts[upper], rows, b), bottom, q.Block(lo, m.Cut, rows, m.N-m.Cut),
		mul)
}

// product computes C = A·B, which is zero if A has no columns (inner = 0).
func product[T scalar.Real](rows, cols, inner int, a, b, c Matrix[T], mul gemm[T]) {
	if inner == 0 {
		for i := range rows {
			clear(c.Row(i))
		}
		return
	}
	mul(rows, cols, inner, a.Data, a.Stride, b.Data, b.Stride, c.Data, c.Stride)
}

// Order sets d to the eigenvalues in the order of the rows that q will have: first the roots, then the deflated ones.
// It sets sorted to these rows in ascending order of their eigenvalues.
func (m *Merge[T]) Order(d []T, sorted []int32) {
	old := m.z[:m.N-m.K]
	for i, r := range m.rows[m.K:m.N] {
		old[i] = d[r]
	}
	copy(d, m.lambda[:m.K])
	copy(d[m.K:], old)
	i, j := 0, m.K
	for k := range sorted[:m.N] {
		if j == m.N || i < m.K && d[i] <= d[j] {
			sorted[k] = int32(i)
			i++
		} else {
			sorted[k] = int32(j)
			j++
		}
	}
}

// Finish copies rows lo to hi−1 of dead, which are deflated eigenvectors, to their rows of q: those behind the K roots.
func (m *Merge[T]) Finish(lo, hi int, dead, q Matrix[T]) {
	for i := lo; i < hi; i++ {
		copy(q.Row(m.K+i), dead.Row(i))
	}
}
