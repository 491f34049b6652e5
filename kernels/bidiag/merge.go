package bidiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// chunk is the number of vectors that one part of a step computes. It does not depend on the number of units, so
// neither do the bits of the result.
const chunk = 128

// merge solves a problem of order n whose two parts are solved, with the row between them:
//
//	deflate ─► pack ─► roots ─► recompute ─► vectors, product ─► finish
//	  one     by side  by rows     one            by rows          one
//
// deflate leaves k rows, the poles. Steps by rows work on rows lo to hi−1 of these. Units may work on different rows,
// or sides, at the same time.
type merge[T scalar.Real] struct {
	mul  tridiag.Product[T]
	crew tridiag.Crew[T]

	cut, n int
	k      int // values that are not deflated

	// These have k elements, one for each pole.
	poles   []T // the d of the poles, ascending; poles[0] is 0
	z       []T
	sigma   []T     // roots
	weights []T     // z²; after recompute, the z for which the computed roots are exact
	column  []int32 // the column of the vectors of M that holds a pole's elements

	// These have n elements.
	byRow []T     // z by the rows of u and v
	rows  []int32 // the rows of u and v that poles belong to, then the deflated rows, each in ascending order of d
	kinds []kind  // of the rows of u and v
	order []int32 // scratch: rows in ascending order of their values
	dead  []int32 // scratch: deflated rows in the order in which deflate found them

	counts [3]int // poles of each kind
}

// kind says in which columns a row of u and v may have elements that are not zero.
type kind uint8

const (
	upper    kind = iota // 0 … cut
	both                 // all
	lower                // cut+1 …
	deflated             // the row is a singular vector already
)

// newMerge returns a merge of order n.
func newMerge[T scalar.Real](n int, mul tridiag.Product[T], crew tridiag.Crew[T]) *merge[T] {
	f, i := make([]T, 5*n), make([]int32, 4*n)
	return &merge[T]{
		mul: mul, crew: crew, n: n,
		poles: f[:n], z: f[n : 2*n], sigma: f[2*n : 3*n], weights: f[3*n : 4*n], byRow: f[4*n:],
		rows: i[:n], column: i[n : 2*n], order: i[2*n : 3*n], dead: i[3*n : 3*n], kinds: make([]kind, n),
	}
}

// mergeScratch returns the number of elements of scratch that a part of a merge of order n needs.
func mergeScratch[T scalar.Real](n int, mul tridiag.Product[T]) int {
	return (min(chunk, n)+1)*n + mul.Work(n+1)
}

// run does all steps. It overwrites d with the singular values, the rows of u and v with the vectors, and sorted with
// the rows in ascending order of their values.
//
// On entry, d holds the values of the first part before cut and those of the second part behind it; d[cut] is α and
// e[cut] is β. Each half of sorted lists the rows of its part in ascending order of their values, counted from the
// beginning of the part. u is n×n and v is square, of order n or n+1. Row cut of u is a unit vector, and row cut of v
// is the first part's vector of the null space.
func (m *merge[T]) run(cut int, d, e []T, sorted []int32, u, v Matrix[T], work []T) {
	m.cut = cut
	n := m.n
	// Scaled, so that the squares of small elements do not underflow.
	most := max(abs(d[cut]), abs(e[cut]))
	for i, x := range d {
		if i != cut {
			most = max(most, x)
		}
	}
	scale := tridiag.Scale[T](float64(most), 1)
	multiply(d, scale)
	m.deflate(e[cut]*scale, most*scale, d, sorted, u, v)
	take := func(rows, cols int) Matrix[T] {
		x := Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: work[:rows*cols]}
		work = work[rows*cols:]
		return x
	}
	k := m.k
	parts := (k + chunk - 1) / chunk
	topRows, bottomRows := m.counts[upper]+m.counts[both], m.counts[both]+m.counts[lower]
	diffs := take(k, k)
	var sides [2]side[T]
	for i, q := range []Matrix[T]{u, v} {
		sides[i] = side[T]{q: q, top: take(topRows, cut+1), bottom: take(bottomRows, q.Cols-cut-1),
			dead: take(n-k, q.Cols)}
	}
	factors := take(parts, k)
	m.crew(2, 0, func(i, _ int, _ []T) { m.pack(sides[i]) })
	rows := func(part int) (lo, hi int) { return part * chunk, min((part+1)*chunk, k) }
	m.crew(parts, 0, func(part, _ int, _ []T) {
		lo, hi := rows(part)
		m.roots(lo, hi, diffs, factors.Row(part))
	})
	m.recompute(factors)
	m.crew(parts, mergeScratch(n, m.mul), func(part, _ int, scratch []T) {
		lo, hi := rows(part)
		left := Matrix[T]{Rows: hi - lo, Cols: k, Stride: k, Data: scratch[:(hi-lo)*k]}
		scratch = scratch[(hi-lo)*k:]
		right := diffs.Block(lo, 0, hi-lo, k)
		m.vectors(lo, left, right, scratch[:k])
		m.product(lo, left, sides[0], scratch[k:])
		m.product(lo, right, sides[1], scratch[k:])
	})
	m.finish(d, sorted, sides[:])
	multiply(d, 1/scale)
}

// side is the vectors of one side, u or v. The products overwrite q, so they read copies of its rows.
type side[T scalar.Real] struct {
	q           Matrix[T]
	top, bottom Matrix[T] // the poles' rows: columns 0 … cut, and the columns behind
	dead        Matrix[T] // the deflated rows
}

// deflate takes out the rows whose z is negligible. A rotation can make z negligible in two more cases: two rows with
// close values are rotated in u and v, and a row with a negligible value is rotated with row cut, in v alone. norm is
// about the largest element of M.
func (m *merge[T]) deflate(beta, norm T, d []T, sorted []int32, u, v Matrix[T]) {
	cut, n, z := m.cut, m.n, m.byRow
	alpha := d[cut]
	tol := 64 * T(scalar.Eps[T]()) * norm
	for i := range n {
		if i < cut {
			m.kinds[i], z[i] = upper, alpha*v.Row(i)[cut]
		} else if i > cut {
			m.kinds[i], z[i] = lower, beta*v.Row(i)[cut+1]
		}
	}
	m.kinds[cut] = both
	m.mergeOrders(d, sorted)
	z[cut] = m.joinNullSpaces(alpha, beta, v)
	m.k, m.counts, m.dead = 0, [3]int{}, m.dead[:0]
	last := -1    // the latest row that is not deflated; it becomes a pole unless the next row is close to it
	first := true // row cut, the first pole, is still to come
	for _, o := range m.order[:n-1] {
		r := int(o)
		switch {
		case abs(z[r]) <= tol:
			m.bury(r)
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
			m.bury(r)
		case last >= 0 && d[r]-d[last] <= tol:
			x := hypot(z[r], z[last])
			c, s := z[r]/x, -z[last]/x
			tridiag.Rotate(u.Row(last), u.Row(r), c, s)
			tridiag.Rotate(v.Row(last), v.Row(r), c, s)
			z[r] = x
			if m.kinds[r] != m.kinds[last] {
				m.kinds[r] = both
			}
			m.bury(last)
			last = r
		default:
			if first {
				first = false
				m.pole(cut, 0)
			}
			if last >= 0 {
				m.pole(last, d[last])
			}
			last = r
		}
	}
	if first {
		m.pole(cut, 0)
	}
	if last >= 0 {
		m.pole(last, d[last])
	}
	if m.k > 1 {
		// The secular equation needs a weight that is not zero. This one is far below tol.
		z[cut] = max(z[cut], tol*T(scalar.Eps[T]()))
	}
	// Deflated rows follow the poles, sorted by insertion. They are almost in order.
	at := m.k
	for _, r := range m.dead {
		i := at
		for ; i > m.k && d[m.rows[i-1]] > d[r]; i-- {
			m.rows[i] = m.rows[i-1]
		}
		m.rows[i] = r
		at++
	}
	m.arrange()
}

// joinNullSpaces returns z(cut), which is not negative. If both parts have a vector of the null space, it rotates the
// two so that row cut takes over the elements of both, and that of the second part becomes zero.
func (m *merge[T]) joinNullSpaces(alpha, beta T, v Matrix[T]) T {
	x := v.Row(m.cut)
	a := alpha * x[m.cut]
	if v.Rows > m.n {
		y := v.Row(m.n)
		b := beta * y[m.cut+1]
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

// mergeOrders merges the two halves of sorted into order, which then has all rows but cut.
func (m *merge[T]) mergeOrders(d []T, sorted []int32) {
	behind := m.cut + 1
	a, b := sorted[:m.cut], sorted[behind:]
	for i := range m.order[:m.n-1] {
		if len(b) == 0 || len(a) > 0 && d[a[0]] <= d[int(b[0])+behind] {
			m.order[i], a = a[0], a[1:]
		} else {
			m.order[i], b = b[0]+int32(behind), b[1:]
		}
	}
}

// bury marks a row as deflated.
func (m *merge[T]) bury(r int) {
	m.kinds[r] = deflated
	m.dead = append(m.dead, int32(r))
}

// pole makes row r the next pole, with the value d.
func (m *merge[T]) pole(r int, d T) {
	m.rows[m.k], m.poles[m.k] = int32(r), d
	m.counts[m.kinds[r]]++
	m.k++
}

// arrange gives each pole a column of the vectors of M. Columns of a kind are side by side, so that the product with
// the rows of u or v is two products without the zeros. arrange also brings z into the order of the poles.
func (m *merge[T]) arrange() {
	next := [3]int{0, m.counts[upper], m.counts[upper] + m.counts[both]}
	for i, r := range m.rows[:m.k] {
		kind := m.kinds[r]
		m.column[i] = int32(next[kind])
		next[kind]++
		x := m.byRow[r]
		m.z[i], m.weights[i] = x, x*x
	}
}

// pack copies the poles' rows of a side to top and bottom, and the deflated rows to dead.
func (m *merge[T]) pack(s side[T]) {
	first := m.counts[upper]
	for i, r := range m.rows[:m.k] {
		kind, c := m.kinds[r], int(m.column[i])
		if kind != lower {
			copy(s.top.Row(c), s.q.Row(int(r)))
		}
		if kind != upper {
			copy(s.bottom.Row(c-first), s.q.Row(int(r))[m.cut+1:])
		}
	}
	for i, r := range m.rows[m.k:m.n] {
		copy(s.dead.Row(i), s.q.Row(int(r)))
	}
}

// roots computes roots lo to hi−1 of the secular equation, and sets element i of row j of s to d(i)²−σ(j)². It sets f
// to the factors that these roots contribute to the weights for which the computed roots are exact:
//
//	f(i) = Π (d(i)²−σ(j)²)/(d(i)²−d(j)²) for j = lo … hi−1, without the divisor where j = i.
func (m *merge[T]) roots(lo, hi int, s Matrix[T], f []T) {
	if m.k == 1 {
		m.sigma[0] = m.z[0]
		return
	}
	d := m.poles[:m.k]
	f = f[:len(d)]
	for i := range f {
		f[i] = 1
	}
	for j := lo; j < hi; j++ {
		x := s.Row(j)[:len(d)]
		m.sigma[j] = tridiag.SingularRoot(d, m.weights[:m.k], j, x)
		dj := d[j]
		for i := range j {
			f[i] *= x[i] / ((d[i] - dj) * (d[i] + dj))
		}
		f[j] *= x[j]
		for i := j + 1; i < len(d); i++ {
			f[i] *= x[i] / ((d[i] - dj) * (d[i] + dj))
		}
	}
}

// recompute multiplies the rows of w, the factors of all parts, and sets the weights to the square roots of the
// products, with the signs of z.
func (m *merge[T]) recompute(w Matrix[T]) {
	for i := range m.k {
		x := T(1)
		for p := range w.Rows {
			x *= w.Row(p)[i]
		}
		m.weights[i] = sign(T(math.Sqrt(math.Abs(float64(x)))), m.z[i])
	}
}

// vectors overwrites right, which holds rows of s from row lo on as roots left them, with right singular vectors of M,
// and sets left to the left ones. Their elements are in the order of the poles' columns.
func (m *merge[T]) vectors(lo int, left, right Matrix[T], scratch []T) {
	if m.k == 1 {
		left.Row(0)[0], right.Row(0)[0] = 1, 1
		return
	}
	d := m.poles[:m.k]
	for j := range right.Rows {
		l, r := left.Row(j), right.Row(j)
		var leftSum, rightSum float64
		for i, w := range m.weights[:m.k] {
			x := w / r[i]
			scratch[i] = x
			rightSum += float64(x) * float64(x)
			y := d[i] * x
			if i == 0 {
				y = -1
			}
			leftSum += float64(y) * float64(y)
		}
		leftNorm, rightNorm := T(1/math.Sqrt(leftSum)), T(1/math.Sqrt(rightSum))
		for i, c := range m.column[:m.k] {
			x := scratch[i]
			r[c], l[c] = x*rightNorm, d[i]*x*leftNorm
		}
		l[m.column[0]] = -leftNorm
	}
}

// product sets the rows of s.q from row lo on to the product of x and the packed rows.
func (m *merge[T]) product(lo int, x Matrix[T], s side[T], work []T) {
	a, b := s.top.Rows, s.bottom.Rows
	behind := m.cut + 1
	m.multiply(x.Block(0, 0, x.Rows, a), s.top, s.q.Block(lo, 0, x.Rows, behind), work)
	m.multiply(x.Block(0, m.counts[upper], x.Rows, b), s.bottom, s.q.Block(lo, behind, x.Rows, s.q.Cols-behind),
		work)
}

// multiply computes c = a·b, which is zero if a has no columns.
func (m *merge[T]) multiply(a, b, c Matrix[T], work []T) {
	if a.Cols == 0 {
		for i := range c.Rows {
			clear(c.Row(i))
		}
		return
	}
	if c.Cols > 0 {
		m.mul.Mul(c.Rows, c.Cols, a.Cols, a.Data, a.Stride, b.Data, b.Stride, c.Data, c.Stride, work)
	}
}

// finish copies the deflated vectors behind the others. It sets d to the values of the rows, and sorted to the rows in
// ascending order of their values.
func (m *merge[T]) finish(d []T, sorted []int32, sides []side[T]) {
	old := m.z[:m.n-m.k]
	for i, r := range m.rows[m.k:m.n] {
		old[i] = d[r]
	}
	for _, s := range sides {
		for i := range m.n - m.k {
			copy(s.q.Row(m.k+i), s.dead.Row(i))
		}
	}
	copy(d, m.sigma[:m.k])
	copy(d[m.k:], old)
	i, j := 0, m.k
	for k := range sorted[:m.n] {
		if j == m.n || i < m.k && d[i] <= d[j] {
			sorted[k] = int32(i)
			i++
		} else {
			sorted[k] = int32(j)
			j++
		}
	}
}

// hypot returns √(a²+b²). It neither overflows nor underflows in between.
func hypot[T scalar.Real](a, b T) T { return T(math.Hypot(float64(a), float64(b))) }
