package tridiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// Merge makes one eigenproblem of order n of two, of which the first has order Cut:
//
//	Deflate ─► Roots ─► Weights, Order ─► Vectors ─► Product ─► Finish
//	  one task   by rows   one              by rows    by rows    one
//
// Steps by rows work on rows lo to hi−1 of the K that are left. Units may do different rows at once.
type Merge[T scalar.Real] struct {
	Cut, N int
	K      int // eigenvalues that are not deflated

	poles, z []T     // 0 … K−1: ascending
	weights  []T     // 0 … K−1: z² with which the roots are exact, then their square roots
	lambda   []T     // 0 … K−1: roots
	rows     []int32 // 0 … K−1: rows of Q that poles belong to; then those that are deflated, ascending
	column   []int32 // 0 … K−1: of S, in which a pole's elements are
	kinds    []kind  // of rows of Q
	counts   [3]int  // of the poles of each kind
	order    []int32 // scratch: rows of Q by their eigenvalue
}

// kind says which half of a row of Q can have elements that are not zero.
type kind uint8

const (
	upper   kind = iota // columns 0 … Cut−1
	both                // all
	lower               // columns Cut … N−1
	deflate             // an eigenvector already
)

// newMerge returns a Merge for orders up to n.
func newMerge[T scalar.Real](n int) *Merge[T] {
	f, i := make([]T, 4*n), make([]int32, 3*n)
	return &Merge[T]{
		poles: f[:n], z: f[n : 2*n], weights: f[2*n : 3*n], lambda: f[3*n:],
		rows: i[:n], column: i[n : 2*n], order: i[2*n:], kinds: make([]kind, n),
	}
}

// Deflate begins a merge: of the eigenvalues d(0) … d(cut−1) of the first half and d(cut) … of the
// second, each in the order of its half of sorted, which holds rows of q, counted from the beginning of each half. q is
// n×n: the eigenvectors of both, with zeros elsewhere. beta is the element of e between them.
//
// d and rows of q are changed where eigenvalues are so close that they are made equal to the last place.
func (m *Merge[T]) Deflate(cut int, beta T, d []T, sorted []int32, q Matrix[T]) {
	n := len(d)
	m.Cut, m.N, m.K = cut, n, 0
	m.counts = [3]int{}
	z := m.z[:n] // by rows of q, for the time being
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
	deflated := n          // rows[deflated:] are, the largest eigenvalue last; filled from behind, so in descending order
	dead := m.column[:0:n] // rows that are, in the order in which they were found
	last := int32(-1)      // a row that will be a pole, unless the next one makes it superfluous
	for _, r := range m.order[:n] {
		switch {
		case rho*abs(z[r]) <= tol:
			m.kinds[r] = deflate
			dead = append(dead, r)
		case last < 0:
			last = r
		case m.turns(last, r, tol, d, z, q):
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
	// A turn changes d of a row that is dead by less than it is apart from its neighbours, as a rule.
	deflated = m.K
	for _, r := range dead {
		i := deflated
		for ; i > m.K && d[m.rows[i-1]] > d[r]; i-- {
			m.rows[i] = m.rows[i-1]
		}
		m.rows[i] = r
		deflated++
	}
	m.arrange(rho, z)
}

// mergeOrders merges the two halves of sorted into order.
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

// turns rotates two rows so that z of the first one becomes 0, if their eigenvalues are so close that the
// rotation leaves D diagonal within tol. It reports whether it has.
func (m *Merge[T]) turns(p, r int32, tol T, d, z []T, q Matrix[T]) bool {
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
	m.kinds[p] = deflate
	Rotate(q.Row(int(p)), q.Row(int(r)), c, s)
	d[p], d[r] = d[p]*c*c+d[r]*s*s, d[p]*s*s+d[r]*c*c
	return true
}

// pole makes a row a pole.
func (m *Merge[T]) pole(r int32, d, z []T) {
	m.rows[m.K], m.poles[m.K] = r, d[r]
	m.counts[m.kinds[r]]++
	m.K++
}

// arrange gives each pole a column of S: those of a kind side by side, so that S·Q is two
// products without the zeros of Q. It brings z into the order of the poles.
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

// Pack copies the rows of q that the product needs to top, (upper+both)×Cut, and bottom,
// (both+lower)×(N−Cut), and those that are deflated to dead, (N−K)×N, which may be the space behind S's rows.
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

// Sizes returns the numbers of rows of top and bottom.
func (m *Merge[T]) Sizes() (top, bottom int) {
	return m.counts[upper] + m.counts[both], m.counts[both] + m.counts[lower]
}

// Roots finds roots lo to hi−1: row j of s becomes d(i)−λ(j). s is K×K.
func (m *Merge[T]) Roots(lo, hi int, s Matrix[T]) {
	q := &secular[T]{d: m.poles[:m.K], zz: m.weights[:m.K]}
	for j := lo; j < hi; j++ {
		m.lambda[j] = q.root(j, s.Row(j))
	}
}

// Factors multiplies w, of length K, by what rows lo to hi−1 of s contribute to the weights with which the
// roots are exact:
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

// Weights sets the weights to the square roots of those in w, with the signs of z.
func (m *Merge[T]) Weights(w []T) {
	for i := range m.weights[:m.K] {
		m.weights[i] = sign(T(math.Sqrt(math.Abs(float64(w[i])))), m.z[i])
	}
}

// Vectors replaces rows lo to hi−1 of s, as Roots leaves them, by eigenvectors of D + ρ·z·zᵀ of norm 1,
// with their elements in the order of the columns of S. scratch has length K.
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

// gemm is [Product.Mul] with its scratch.
type gemm[T scalar.Real] func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int)

// Product sets rows lo to hi−1 of q to the product of these rows of s and the packed rows.
func (m *Merge[T]) Product(lo, hi int, s, top, bottom, q Matrix[T], mul gemm[T]) {
	if lo >= hi {
		return
	}
	a, b := m.Sizes()
	rows := hi - lo
	product(rows, m.Cut, a, s.Block(lo, 0, rows, a), top, q.Block(lo, 0, rows, m.Cut), mul)
	product(rows, m.N-m.Cut, b, s.Block(lo, m.counts[upper], rows, b), bottom, q.Block(lo, m.Cut, rows, m.N-m.Cut), mul)
}

// product is C = A·B, zero if A has no columns.
func product[T scalar.Real](rows, cols, inner int, a, b, c Matrix[T], mul gemm[T]) {
	if inner == 0 {
		for i := range rows {
			clear(c.Row(i))
		}
		return
	}
	mul(rows, cols, inner, a.Data, a.Stride, b.Data, b.Stride, c.Data, c.Stride)
}

// Order sets d to the eigenvalues of the rows that q will have: the roots, and behind them those that are
// deflated. It sets sorted to these rows in ascending order of their eigenvalues.
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

// Finish copies rows lo to hi−1 of dead, the eigenvectors that are deflated, to their rows of q.
func (m *Merge[T]) Finish(lo, hi int, dead, q Matrix[T]) {
	for i := lo; i < hi; i++ {
		copy(q.Row(m.K+i), dead.Row(i))
	}
}
