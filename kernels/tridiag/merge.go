package tridiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// Merge makes one problem of order N of two parts that are solved. It is the common part of merges of eigenproblems
// and, in package bidiag, of singular value problems:
//
//	deflation ─► roots ─► weights, order ─► for each side: pack ─► vectors, products ─► deflated vectors
//	   one      by rows        one                      by rows         by rows               one
//
// Deflation, which is the caller's, leaves K rows, the poles; [Merge.Run] does the rest. Steps by rows work on rows lo
// to hi−1 of these. Units may work on different rows at the same time.
type Merge[T scalar.Real] struct {
	Tools   Tools[T]
	Crew    Crew[T]
	Squares bool // the equation is 1 + Σ zz(i)/(d(i)²−σ²) = 0, as in LAPACK xLASD4
	Bare    bool // only the values are wanted

	N, Behind int // the order, and the first row of the second part
	Split     int // the first column of the second part
	K         int // values that are not deflated

	// These have K elements, one for each pole.
	Poles   []T     // ascending
	Z       []T     // the vector of the rank-one term
	Weights []T     // ρ·Z²; for the vectors, the vector Z for which the computed roots are exact, times √ρ
	Column  []int32 // the column of the computed vectors that holds a pole's elements
	roots   []T
	// Root j is taus[j] behind pole origins[j].
	taus    []T
	origins []int32

	// These have N elements.
	ByRow []T     // Z by the rows of the vectors
	Kinds []Kind  // of the rows
	Order []int32 // rows in ascending order of their values
	rows  []int32 // the rows that poles belong to, then the deflated rows, each in ascending order of their values
	dead  []int32 // deflated rows as Bury noted them

	counts [3]int // poles of each kind
}

// Kind says in which columns a row of the vectors may have elements that are not zero.
type Kind uint8

// The kinds of rows.
const (
	Upper    Kind = iota // 0 … Split−1
	Both                 // all
	Lower                // from Split on
	Deflated             // the row is a vector of the result already
)

// NewMerge returns a Merge of order n.
func NewMerge[T scalar.Real](n int, tools Tools[T], crew Crew[T]) *Merge[T] {
	f, i := make([]T, 6*n), make([]int32, 5*n)
	return &Merge[T]{
		Tools: tools, Crew: crew, N: n,
		Poles: f[:n], Z: f[n : 2*n], Weights: f[2*n : 3*n], roots: f[3*n : 4*n], ByRow: f[4*n : 5*n], taus: f[5*n:],
		Column: i[:n], Order: i[n : 2*n], rows: i[2*n : 3*n], dead: i[3*n : 3*n : 4*n], origins: i[4*n:], Kinds: make([]Kind, n),
	}
}

// MergeOrders sets Order to the first rows and those from Behind on, in ascending order of d. Each part of sorted lists
// the rows of its part in that order, counted from the beginning of the part.
func (m *Merge[T]) MergeOrders(first int, d []T, sorted []int32) {
	a, b := sorted[:first], sorted[m.Behind:]
	m.Order = m.Order[:len(a)+len(b)]
	for i := range m.Order {
		if len(b) == 0 || len(a) > 0 && d[a[0]] <= d[int(b[0])+m.Behind] {
			m.Order[i], a = a[0], a[1:]
		} else {
			m.Order[i], b = b[0]+int32(m.Behind), b[1:]
		}
	}
}

// Bury notes that row r is deflated.
func (m *Merge[T]) Bury(r int) {
	m.Kinds[r] = Deflated
	m.dead = append(m.dead, int32(r))
}

// Pole makes row r the next pole, with the value d.
func (m *Merge[T]) Pole(r int, d T) {
	m.rows[m.K], m.Poles[m.K] = int32(r), d
	m.counts[m.Kinds[r]]++
	m.K++
}

// EndDeflation sorts the deflated rows, whose values are in d, and sets the weights. It gives each pole a column.
// Columns of a kind are side by side, so that the products with the rows of the vectors are two products without zeros.
func (m *Merge[T]) EndDeflation(rho T, d []T) {
	// Insertion: the deflated rows are almost in order.
	end := m.K
	for _, r := range m.dead {
		i := end
		for ; i > m.K && d[m.rows[i-1]] > d[r]; i-- {
			m.rows[i] = m.rows[i-1]
		}
		m.rows[i] = r
		end++
	}
	next := [3]int{0, m.counts[Upper], m.counts[Upper] + m.counts[Both]}
	for i, r := range m.rows[:m.K] {
		kind, z := m.Kinds[r], m.ByRow[r]
		m.Column[i] = int32(next[kind])
		next[kind]++
		m.Z[i], m.Weights[i] = z, rho*z*z
	}
}

// side is vectors of one side. The products overwrite q, so they read copies of its rows.
type side[T scalar.Real] struct {
	q           Matrix[T]
	top, bottom Matrix[T] // the poles' rows: columns 0 … Split−1 of the kinds Upper and Both, others of Both and Lower
	dead        Matrix[T] // the deflated rows
}

// pack copies rows lo to hi−1 of a side: first the poles', then the deflated ones.
func (m *Merge[T]) pack(s side[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		r := int(m.rows[i])
		if i >= m.K {
			copy(s.dead.Row(i-m.K), s.q.Row(r))
			continue
		}
		kind, c := m.Kinds[r], int(m.Column[i])
		if kind != Lower {
			copy(s.top.Row(c), s.q.Row(r))
		}
		if kind != Upper {
			copy(s.bottom.Row(c-m.counts[Upper]), s.q.Row(r)[m.Split:])
		}
	}
}

// MergeScratch returns the number of elements of scratch that the crew of a merge of order n lends a part, beside what a
// product needs.
func MergeScratch(n int) int { return (min(chunk, n) + 1) * n }

// MergeWork returns the number of elements of work space for each row of a merge, if rows of a side have cols elements and
// no merge is of a larger order than n: those of one side, and factors.
func MergeWork(n, cols int) int { return cols + n/chunk + 1 }

// Run does all steps after deflation. It overwrites d with the values, and sorted with the rows in ascending order of
// their values. Then it calls wanted, if that is not nil: only the vectors of the rows that wanted returns, a contiguous
// part of sorted, are computed. They overwrite rows of sides, square matrices that hold the vectors of both parts with
// zeros elsewhere.
//
// vector makes the vector of a side that belongs to a root, in terms of the poles: it sets x to its elements, in the order of
// Column. diff holds the differences of the poles and that root, and vector may overwrite it.
//
// One side is done after the other, so that work need not hold both. Differences are computed anew for each, as K² of them
// would take as much memory as a side.
func (m *Merge[T]) Run(d []T, sorted []int32, sides []Matrix[T], work []T, wanted func() []int32,
	vector func(side int, diff, x []T)) {
	k := m.K
	parts := (k + chunk - 1) / chunk
	rows := func(part int) (lo, hi int) { return part * chunk, min((part+1)*chunk, k) }
	if m.Bare {
		m.Crew(parts, k, func(part, _ int, diff []T) {
			lo, hi := rows(part)
			for j := lo; j < hi; j++ {
				m.root(j, diff)
			}
		})
		m.order(d, sorted)
		return
	}
	factors := Matrix[T]{Rows: parts, Cols: k, Stride: k, Data: work[:parts*k]}
	work = work[parts*k:]
	m.Crew(parts, k, func(part, _ int, diff []T) {
		lo, hi := rows(part)
		m.solve(lo, hi, diff, factors.Row(part))
	})
	m.weigh(factors)
	m.order(d, sorted)
	all := sorted[:m.N]
	if wanted != nil {
		all = wanted()
	}
	m.vectors(all, sides, work, vector)
}

// vectors overwrites the given rows of sides, a contiguous part of what order calls sorted. See [Merge.Run].
func (m *Merge[T]) vectors(wanted []int32, sides []Matrix[T], work []T, vector func(side int, diff, x []T)) {
	k, n := m.K, m.N
	first, last, firstDead, lastDead := k, 0, n-k, 0
	for _, r := range wanted {
		if r := int(r); r < k {
			first, last = min(first, r), max(last, r+1)
		} else {
			firstDead, lastDead = min(firstDead, r-k), max(lastDead, r-k+1)
		}
	}
	for i, q := range sides {
		s := m.side(q, work)
		m.Crew((n+chunk-1)/chunk, 0, func(part, _ int, _ []T) { m.pack(s, part*chunk, min((part+1)*chunk, n)) })
		m.Crew((k+chunk-1)/chunk, MergeScratch(k)+m.Tools.Work(max(q.Cols, k)), func(part, _ int, work []T) {
			lo, hi := max(part*chunk, first), min((part+1)*chunk, k, last)
			if lo >= hi {
				return
			}
			diff, work := work[:k], work[k:]
			x := Matrix[T]{Rows: hi - lo, Cols: k, Stride: k, Data: work[:(hi-lo)*k]}
			for j := lo; j < hi; j++ {
				m.differences(j, diff)
				vector(i, diff, x.Row(j-lo))
			}
			m.product(lo, x, s, work[min(chunk, k)*k:])
		})
		for i := firstDead; i < lastDead; i++ {
			copy(s.q.Row(k+i), s.dead.Row(i))
		}
	}
}

// side returns the side of q, with copies of its rows in work.
func (m *Merge[T]) side(q Matrix[T], work []T) side[T] {
	take := func(rows, cols int) Matrix[T] {
		x := Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: work[:rows*cols]}
		work = work[rows*cols:]
		return x
	}
	return side[T]{q, take(m.counts[Upper]+m.counts[Both], m.Split), take(m.counts[Both]+m.counts[Lower], q.Cols-m.Split),
		take(m.N-m.K, q.Cols)}
}

// solve computes roots lo to hi−1 of the secular equation. It sets f to the factors that these roots contribute to the
// weights for which the computed roots are exact:
//
//	f(i) = Π (p(i)−λ(j))/(p(i)−p(j)) for j = lo … hi−1, without the divisor where j = i,
//
// where p(i) is d(i) or, for squares, d(i)². x is scratch for the differences p(i)−λ(j).
func (m *Merge[T]) solve(lo, hi int, x, f []T) {
	if m.Squares && m.K == 1 {
		m.roots[0] = m.Z[0]
		return
	}
	d := m.Poles[:m.K]
	f = f[:len(d)]
	for i := range f {
		f[i] = 1
	}
	for j := lo; j < hi; j++ {
		dj := d[j]
		m.root(j, x)
		own := f[j] * x[j] // there is no divisor
		done := 0
		if m.Tools.Secular != nil {
			done = m.Tools.Secular.Factors(d, dj, m.Squares, x, f)
		}
		for i := done; i < len(x); i++ {
			distance := d[i] - dj
			if m.Squares {
				distance *= d[i] + dj
			}
			f[i] *= x[i] / distance
		}
		f[j] = own
	}
}

// root computes root j of the secular equation, and sets diff to the differences of the poles and that root.
func (m *Merge[T]) root(j int, diff []T) {
	q := &secular[T]{m.Poles[:m.K], m.Weights[:m.K], m.Squares, m.Tools.Secular}
	origin, tau := q.find(j, diff)
	for i := range diff {
		diff[i] -= tau
	}
	m.origins[j], m.taus[j], m.roots[j] = int32(origin), tau, q.value(origin, tau)
}

// differences sets diff to what root has set it to.
func (m *Merge[T]) differences(j int, diff []T) {
	d, tau := m.Poles[:m.K], m.taus[j]
	diff = diff[:len(d)]
	o := d[m.origins[j]]
	if m.Squares {
		for i, x := range d {
			diff[i] = T((x-o)*(x+o)) - tau // rounded in between, as when the root was computed
		}
		return
	}
	for i, x := range d {
		diff[i] = (x - o) - tau
	}
}

// Quotients sets y to the weights divided by x. y has as many elements as there are poles.
func (m *Merge[T]) Quotients(x, y []T) {
	w := m.Weights[:m.K]
	x, y = x[:len(w)], y[:len(w)]
	done := 0
	if m.Tools.Secular != nil {
		done = m.Tools.Secular.Quotients(w, x, y)
	}
	for i := done; i < len(w); i++ {
		y[i] = w[i] / x[i]
	}
}

// Normalize sets x to y/‖y‖, with the elements in the order of Column. y has as many elements as there are poles.
func (m *Merge[T]) Normalize(y, x []T) {
	var s0, s1, s2, s3 float64 // one sum would wait for itself
	rest := y
	for ; len(rest) >= 4; rest = rest[4:] {
		a, b, c, d := float64(rest[0]), float64(rest[1]), float64(rest[2]), float64(rest[3])
		s0, s1, s2, s3 = s0+a*a, s1+b*b, s2+c*c, s3+d*d
	}
	for _, v := range rest {
		s0 += float64(v) * float64(v)
	}
	by := T(1 / math.Sqrt(s0+s1+(s2+s3)))
	for i, c := range m.Column[:len(y)] {
		x[c] = y[i] * by
	}
}

// weigh multiplies the rows of w, the factors of all parts, and sets the weights to the square roots of the products,
// with the signs of Z.
func (m *Merge[T]) weigh(w Matrix[T]) {
	for i := range m.K {
		x := T(1)
		for p := range w.Rows {
			x *= w.Row(p)[i]
		}
		m.Weights[i] = sign(T(math.Sqrt(math.Abs(float64(x)))), m.Z[i])
	}
}

// order sets d to the values in the order of the rows that the vectors will have: first the roots, then the deflated
// ones. It sets sorted to these rows in ascending order of their values.
func (m *Merge[T]) order(d []T, sorted []int32) {
	old := m.Z[:m.N-m.K]
	for i, r := range m.rows[m.K:m.N] {
		old[i] = d[r]
	}
	copy(d, m.roots[:m.K])
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

// product sets the rows of s.q from row lo on to the product of x and the packed rows.
func (m *Merge[T]) product(lo int, x Matrix[T], s side[T], work []T) {
	a, b := s.top.Rows, s.bottom.Rows
	m.multiply(x.Block(0, 0, x.Rows, a), s.top, s.q.Block(lo, 0, x.Rows, m.Split), work)
	m.multiply(x.Block(0, m.counts[Upper], x.Rows, b), s.bottom,
		s.q.Block(lo, m.Split, x.Rows, s.q.Cols-m.Split), work)
}

// multiply computes c = a·b, which is zero if a has no columns.
func (m *Merge[T]) multiply(a, b, c Matrix[T], work []T) {
	if a.Cols == 0 {
		for i := range c.Rows {
			clear(c.Row(i))
		}
		return
	}
	if c.Cols > 0 {
		m.Tools.Mul(c.Rows, c.Cols, a.Cols, a.Data, a.Stride, b.Data, b.Stride, c.Data, c.Stride, work)
	}
}
