package tridiag

import "github.com/tessera-la/tessera/internal/scalar"

// Leaf is the largest order that [Stedc] solves by [Steqr].
const Leaf = 48

// chunk is how many rows of a merge are worked on by one part: so that neither the parts nor the bits
// depend on how many units there are.
const chunk = 128

// Crew calls f for parts 0 to parts−1, on as many units as there are, each with work elements of
// scratch, and returns when all have returned.
type Crew[T scalar.Real] func(parts, work int, f func(part, parts int, work []T))

// Alone is the Crew of one unit, which has scratch.
func Alone[T scalar.Real](scratch []T) Crew[T] {
	return func(parts, work int, f func(part, parts int, work []T)) {
		for i := range parts {
			f(i, parts, scratch[:work])
		}
	}
}

// Product is C = A·B for matrices in rows, A m×k and B k×n, with Work elements of scratch for
// dimensions up to dim.
type Product[T scalar.Real] struct {
	Work func(dim int) int
	Mul  func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, work []T)
}

// node is a part of T that is torn before row cut, or a leaf if that is hi.
type node struct{ lo, cut, hi int }

// tree returns the nodes by their level, the whole matrix first, and the leaves. It depends on n alone.
func tree(n int) (levels [][]node, leaves []node) {
	var grow func(lo, hi, level int)
	grow = func(lo, hi, level int) {
		if hi-lo <= Leaf {
			leaves = append(leaves, node{lo, hi, hi})
			return
		}
		if level == len(levels) {
			levels = append(levels, nil)
		}
		cut := lo + (hi-lo)/2
		levels[level] = append(levels[level], node{lo, cut, hi})
		grow(lo, cut, level+1)
		grow(cut, hi, level+1)
	}
	grow(0, n, 0)
	return levels, leaves
}

// Choice returns which eigenvectors are wanted: those of values first … last−1 of all of them, in ascending
// order.
type Choice[T scalar.Real] func(values []T) (first, last int)

// Stedc overwrites d with the eigenvalues of T in ascending order, and the first rows of q, n×n, with the
// eigenvectors that choose wants, or with all if it is nil; what the other rows hold is not defined. e is
// overwritten. work holds at least [WorkStedc] elements. The result has the same bits for any crew.
//
// Elements must be finite. The error is a *ConvergenceError.
//
// Reference: LAPACK xSTEDC.
func Stedc[T scalar.Real](d, e []T, q Matrix[T], work []T, mul Product[T], crew Crew[T], choose Choice[T]) error {
	n := len(d)
	if choose == nil {
		choose = func(values []T) (first, last int) { return 0, len(values) }
	}
	for i := range n {
		clear(q.Row(i))
		q.Row(i)[i] = 1
	}
	if n < 2 {
		return nil
	}
	scale := scaleFor(d, e, 1)
	multiply(d, scale)
	multiply(e, scale)
	levels, leaves := tree(n)
	for _, level := range levels {
		for _, x := range level {
			b := abs(e[x.cut-1])
			d[x.cut-1] -= b
			d[x.cut] -= b
		}
	}
	sorted := make([]int32, n)
	errs := make([]error, len(leaves))
	crew(len(leaves), 0, func(i, _ int, _ []T) {
		x := leaves[i]
		errs[i] = Steqr(d[x.lo:x.hi], e[x.lo:x.hi-1], q.Block(x.lo, x.lo, x.hi-x.lo, x.hi-x.lo))
		for r := range x.hi - x.lo {
			sorted[x.lo+r] = int32(r)
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	// values are the eigenvalues, of which first … last−1 are chosen as soon as they are known.
	values, first, last := make([]T, n), 0, n
	order := func() {
		for i, r := range sorted {
			values[i] = d[r] * (1 / scale)
		}
		first, last = choose(values)
	}
	if len(levels) == 0 {
		order()
	}
	for l := len(levels) - 1; l >= 0; l-- {
		level := levels[l]
		one := func(i int, crew Crew[T]) {
			x := level[i]
			size := x.hi - x.lo
			m := merger[T]{newMerge[T](size), mul, crew}
			wanted := func() []int32 { return sorted[x.lo:x.hi] }
			if l == 0 {
				wanted = func() []int32 { order(); return sorted[first:last] }
			}
			m.run(x.cut-x.lo, e[x.cut-1], d[x.lo:x.hi], sorted[x.lo:x.hi], q.Block(x.lo, x.lo, size, size), work[2*x.lo*(n+1):], wanted)
		}
		if len(level) < abreast {
			for i := range level {
				one(i, crew)
			}
			continue
		}
		most := 0
		for _, x := range level {
			most = max(most, x.hi-x.lo)
		}
		crew(len(level), mul.Work(most)+most, func(i, _ int, scratch []T) { one(i, Alone(scratch)) })
	}
	// Rows into the order of their eigenvalues, by way of the work space.
	chosen := sorted[first:last]
	for i, r := range chosen {
		copy(work[i*n:][:n], q.Row(int(r)))
	}
	copy(d, values)
	for i := range chosen {
		copy(q.Row(i), work[i*n:][:n])
	}
	return nil
}

// abreast is the number of merges of a level from which on units work on different ones instead of
// together on each.
const abreast = 4

// WorkStedc returns how many elements of work space [Stedc] needs for order n.
func WorkStedc(n int) int { return 2 * n * (n + 1) }

// merger makes one problem of two.
type merger[T scalar.Real] struct {
	*Merge[T]
	mul  Product[T]
	crew Crew[T]
}

// run does all steps of a merge. wanted returns, of sorted, what vectors are wanted: neighbours in that order.
func (m merger[T]) run(cut int, beta T, d []T, sorted []int32, q Matrix[T], work []T, wanted func() []int32) {
	n := len(d)
	m.Deflate(cut, beta, d, sorted, q)
	take := func(rows, cols int) Matrix[T] {
		x := Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: work[:rows*cols]}
		work = work[rows*cols:]
		return x
	}
	k := m.K
	parts := (k + chunk - 1) / chunk
	a, b := m.Sizes()
	s, top, bottom, dead, w := take(k, k), take(a, cut), take(b, n-cut), take(n-k, n), take(parts, k)
	m.Pack(q, top, bottom, dead)
	rows := func(part int) (lo, hi int) { return part * chunk, min((part+1)*chunk, k) }
	m.crew(parts, 0, func(part, _ int, _ []T) {
		lo, hi := rows(part)
		m.Roots(lo, hi, s)
		f := w.Row(part)
		for i := range f {
			f[i] = 1
		}
		m.Factors(lo, hi, s, f)
	})
	if parts > 0 {
		for part := 1; part < parts; part++ {
			for i, f := range w.Row(part) {
				w.Data[i] *= f
			}
		}
		m.Weights(w.Row(0))
	}
	m.Order(d, sorted)
	roots, deflated := span{k, 0}, span{n - k, 0}
	for _, r := range wanted() {
		if int(r) < k {
			roots.add(int(r))
		} else {
			deflated.add(int(r) - k)
		}
	}
	m.crew(parts, k+m.mul.Work(n), func(part, _ int, scratch []T) {
		lo, hi := rows(part)
		lo, hi = max(lo, roots.lo), min(hi, roots.hi)
		m.Vectors(lo, hi, s, scratch)
		m.Product(lo, hi, s, top, bottom, q, func(rows, cols, inner int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
			m.mul.Mul(rows, cols, inner, a, lda, b, ldb, c, ldc, scratch[k:])
		})
	})
	m.Finish(deflated.lo, deflated.hi, dead, q)
}

// span is numbers lo … hi−1.
type span struct{ lo, hi int }

// add makes s large enough for i.
func (s *span) add(i int) { s.lo, s.hi = min(s.lo, i), max(s.hi, i+1) }
