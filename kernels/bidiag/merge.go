package bidiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// chunk is how many vectors of a merge are worked on by one part: so that neither the parts nor the bits
// depend on how many units there are.
const chunk = 128

// merge makes one problem of order n of two and the row between them:
//
//	deflate ─► roots ─► weights ─► vectors, products ─► finish
//	  one      by rows    one           by rows           one
//
// Steps by rows work on rows lo to hi−1 of the k that are left. Units may do different rows at once.
type merge[T scalar.Real] struct {
	mul  tridiag.Product[T]
	crew tridiag.Crew[T]

	cut, n int
	k      int // values that are not deflated

	poles, z []T     // 0 … k−1: ascending; poles[0] is 0
	sigma    []T     // 0 … k−1: roots
	weights  []T     // 0 … k−1: z² and then z with which the roots are exact
	byRow    []T     // z by the rows of u and v
	rows     []int32 // 0 … k−1: rows of u and v that poles belong to; then those that are deflated, ascending
	column   []int32 // 0 … k−1: of the vectors of M, in which a pole's elements are
	kinds    []kind  // of rows of u and v
	counts   [3]int  // of the poles of each kind
	order    []int32 // scratch: rows by their value
	dead     []int32 // scratch: rows that are deflated, in the order in which they were found
}

// kind says which columns of a row of u and v can have elements that are not zero.
type kind uint8

const (
	upper   kind = iota // 0 … cut
	both                // all
	lower               // cut+1 …
	deflate             // a singular vector already
)

func newMerge[T scalar.Real](n int, mul tridiag.Product[T], crew tridiag.Crew[T]) *merge[T] {
	f, i := make([]T, 5*n), make([]int32, 4*n)
	return &merge[T]{
		mul: mul, crew: crew, n: n,
		poles: f[:n], z: f[n : 2*n], sigma: f[2*n : 3*n], weights: f[3*n : 4*n], byRow: f[4*n:],
		rows: i[:n], column: i[n : 2*n], order: i[2*n : 3*n], dead: i[3*n : 3*n], kinds: make([]kind, n),
	}
}

// mergeScratch returns how much scratch a part of a merge of order n needs.
func mergeScratch[T scalar.Real](n int, mul tridiag.Product[T]) int {
	return (min(chunk, n)+1)*n + mul.Work(n+1)
}

// run does all steps. Of d, elements before cut are the values of the first part and those behind it
// of the second one, each in the order of its half of sorted, which holds rows, counted from the beginning of the
// half; d[cut] is α and e[cut] β. u is n×n and v of order n or n+1, with a unit vector in row cut of u, and
// the first part's vector of the null space in row cut of v.
func (m *merge[T]) run(cut int, d, e []T, sorted []int32, u, v Matrix[T], work []T) {
	m.cut = cut
	n := m.n
	// The squares of a part of small elements must not underflow.
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
	a, b := m.counts[upper]+m.counts[both], m.counts[both]+m.counts[lower]
	s := take(k, k)
	var sides [2]side[T]
	for i, q := range []Matrix[T]{u, v} {
		sides[i] = side[T]{q: q, top: take(a, cut+1), bottom: take(b, q.Cols-cut-1), dead: take(n-k, q.Cols)}
	}
	w := take(parts, k)
	m.crew(2, 0, func(i, _ int, _ []T) { m.pack(sides[i]) })
	rows := func(part int) (lo, hi int) { return part * chunk, min((part+1)*chunk, k) }
	m.crew(parts, 0, func(part, _ int, _ []T) {
		lo, hi := rows(part)
		m.roots(lo, hi, s, w.Row(part))
	})
	m.recompute(w)
	m.crew(parts, mergeScratch(n, m.mul), func(part, _ int, scratch []T) {
		lo, hi := rows(part)
		left := Matrix[T]{Rows: hi - lo, Cols: k, Stride: k, Data: scratch[:(hi-lo)*k]}
		scratch = scratch[(hi-lo)*k:]
		right := s.Block(lo, 0, hi-lo, k)
		m.vectors(lo, left, right, scratch[:k])
		m.product(lo, left, sides[0], scratch[k:])
		m.product(lo, right, sides[1], scratch[k:])
	})
	m.finish(d, sorted, sides[:])
	multiply(d, 1/scale)
}

// side is the vectors of one side, and copies of those that are needed while they are overwritten.
type side[T scalar.Real] struct {
	q           Matrix[T]
	top, bottom Matrix[T] // columns 0 … cut and the others of poles' rows
	dead        Matrix[T] // rows that are deflated
}

// deflate takes out rows whose z is negligible, or can be made so by a rotation: of two rows whose
// values are close, or of a row with a negligible value and row cut, in v alone. norm is the largest element
// of M, about.
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
	last := -1 // a row that will be a pole, unless the next one makes it superfluous
	first := true
	for _, o := range m.order[:n-1] {
		r := int(o)
		switch {
		case abs(z[r]) <= tol:
			m.bury(r)
		case d[r] <= tol:
			// (z(cut) z(r); 0 d(r)), and of the second row only c·d(r) is left.
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
		// A square that is not zero, and far below tol.
		z[cut] = max(z[cut], tol*T(scalar.Eps[T]()))
	}
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

// joinNullSpaces makes the element of the first part's vector of the null space the length of both parts', z(cut), which is not
// negative, by a rotation that makes the second part's zero.
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

// mergeOrders merges the two halves of sorted into order: all rows but cut.
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
	m.kinds[r] = deflate
	m.dead = append(m.dead, int32(r))
}

// pole makes a row a pole.
func (m *merge[T]) pole(r int, d T) {
	m.rows[m.k], m.poles[m.k] = int32(r), d
	m.counts[m.kinds[r]]++
	m.k++
}

// arrange gives each pole a column of the vectors of M: those of a kind side by side, so that a product
// with rows of u or v is two without their zeros. It brings z into the order of the poles.
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

// pack copies the rows of a side that the product needs, and those that are deflated.
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

// roots finds roots lo to hi−1: row j of s becomes d(i)²−σ(j)². f becomes their factors of the weights with which
// they are exact:
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

// recompute sets the weights to the square roots of the products of the rows of w, with the signs of z.
func (m *merge[T]) recompute(w Matrix[T]) {
	for i := range m.k {
		x := T(1)
		for p := range w.Rows {
			x *= w.Row(p)[i]
		}
		m.weights[i] = sign(T(math.Sqrt(math.Abs(float64(x)))), m.z[i])
	}
}

// vectors replaces rows of right, from row lo of s on as roots leaves them, by right singular vectors of M,
// and sets left to the left ones, with their elements in the order of the poles' columns.
func (m *merge[T]) vectors(lo int, left, right Matrix[T], scratch []T) {
	if m.k == 1 {
		left.Row(0)[0], right.Row(0)[0] = 1, 1
		return
	}
	d := m.poles[:m.k]
	for j := range right.Rows {
		l, r := left.Row(j), right.Row(j)
		var sl, sr float64
		for i, w := range m.weights[:m.k] {
			x := w / r[i]
			scratch[i] = x
			sr += float64(x) * float64(x)
			y := d[i] * x
			if i == 0 {
				y = -1
			}
			sl += float64(y) * float64(y)
		}
		nl, nr := T(1/math.Sqrt(sl)), T(1/math.Sqrt(sr))
		for i, c := range m.column[:m.k] {
			x := scratch[i]
			r[c], l[c] = x*nr, d[i]*x*nl
		}
		l[m.column[0]] = -nl
	}
}

// product sets rows of q, from row lo on, to the product of x and the packed rows.
func (m *merge[T]) product(lo int, x Matrix[T], s side[T], work []T) {
	a, b := s.top.Rows, s.bottom.Rows
	behind := m.cut + 1
	m.multiply(x.Block(0, 0, x.Rows, a), s.top, s.q.Block(lo, 0, x.Rows, behind), work)
	m.multiply(x.Block(0, m.counts[upper], x.Rows, b), s.bottom, s.q.Block(lo, behind, x.Rows, s.q.Cols-behind), work)
}

// multiply is c = a·b, zero if a has no columns.
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

// finish puts vectors that are deflated behind the others, sets d to the values of the rows, and sorted to the
// rows in ascending order of their values.
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

// hypot returns √(a²+b²); the squares of what is not negligible neither over- nor underflow.
func hypot[T scalar.Real](a, b T) T { return T(math.Hypot(float64(a), float64(b))) }
