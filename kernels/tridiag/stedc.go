package tridiag

import "github.com/tessera-la/tessera/internal/scalar"

// Leaf is the largest order that [Stedc] solves by [Steqr].
const Leaf = 48

// chunk is the number of rows that one part of a step of a merge computes. It does not depend on the number of units,
// so neither do the bits of the result.
const chunk = 128

// Crew calls f for parts 0 to parts−1, on as many units as there are. Each call of f gets work elements of scratch.
// Crew returns when all calls have returned.
type Crew[T scalar.Real] func(parts, work int, f func(part, parts int, work []T))

// Alone returns the Crew of the caller's unit alone. All parts use scratch, one after the other.
func Alone[T scalar.Real](scratch []T) Crew[T] {
	return func(parts, work int, f func(part, parts int, work []T)) {
		for i := range parts {
			f(i, parts, scratch[:work])
		}
	}
}

// Product multiplies row-major matrices.
type Product[T scalar.Real] struct {
	// Work returns the number of elements of scratch that Mul needs if no dimension is larger than dim.
	Work func(dim int) int
	// Mul computes C = A·B, where A is m×k and B is k×n.
	Mul func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, work []T)
}

// node is rows lo to hi−1 of T, which are torn before row cut. In a leaf, cut is hi.
type node struct{ lo, cut, hi int }

// tree returns the nodes of each level, the whole matrix first, and the leaves. They depend on n alone.
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

// Choice chooses the eigenvectors that [Stedc] computes. values are all eigenvalues in ascending order; the
// eigenvectors of values first … last−1 are wanted.
type Choice[T scalar.Real] func(values []T) (first, last int)

// Stedc overwrites d with the eigenvalues of T in ascending order. It overwrites the first rows of the n×n matrix q
// with the eigenvectors that choose selects, or with all if choose is nil; the other rows are undefined. It does not
// call choose if n is less than 2. d has n elements and e has n−1; e is overwritten. work holds at least [WorkStedc]
// elements. The result has the same bits for any crew.
//
// Elements must be finite. If the iteration of a leaf does not converge, the error is a *ConvergenceError, and the
// results are undefined.
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
		for _, part := range level {
			b := abs(e[part.cut-1])
			d[part.cut-1] -= b
			d[part.cut] -= b
		}
	}
	sorted := make([]int32, n)
	errs := make([]error, len(leaves))
	crew(len(leaves), 0, func(i, _ int, _ []T) {
		part := leaves[i]
		errs[i] = Steqr(d[part.lo:part.hi], e[part.lo:part.hi-1],
			q.Block(part.lo, part.lo, part.hi-part.lo, part.hi-part.lo))
		for r := range part.hi - part.lo {
			sorted[part.lo+r] = int32(r)
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	// order sets values to the eigenvalues, and first and last to the choice, as soon as the eigenvalues are known.
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
	for depth := len(levels) - 1; depth >= 0; depth-- {
		level := levels[depth]
		mergeNode := func(i int, crew Crew[T]) {
			part := level[i]
			size := part.hi - part.lo
			m := merger[T]{newMerge[T](size), mul, crew}
			wanted := func() []int32 { return sorted[part.lo:part.hi] }
			if depth == 0 {
				wanted = func() []int32 { order(); return sorted[first:last] }
			}
			m.run(part.cut-part.lo, e[part.cut-1], d[part.lo:part.hi], sorted[part.lo:part.hi],
				q.Block(part.lo, part.lo, size, size),
				work[2*part.lo*(n+1):], wanted)
		}
		if len(level) < abreast {
			for i := range level {
				mergeNode(i, crew)
			}
			continue
		}
		largest := 0
		for _, part := range level {
			largest = max(largest, part.hi-part.lo)
		}
		crew(len(level), mul.Work(largest)+largest, func(i, _ int, scratch []T) { mergeNode(i, Alone(scratch)) })
	}
	// work holds the chosen rows while they are brought into the order of their eigenvalues.
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

// abreast is the least number of merges in a level for which each unit works on a merge of its own. With fewer, all
// units work together on one merge after the other.
const abreast = 4

// WorkStedc returns the number of elements of work space that [Stedc] needs for order n.
func WorkStedc(n int) int { return 2 * n * (n + 1) }

// merger runs a [Merge] with the products and the crew of a call of [Stedc].
type merger[T scalar.Real] struct {
	*Merge[T]
	mul  Product[T]
	crew Crew[T]
}

// run does all steps of a merge: see [Merge.Deflate] for the operands. wanted returns the rows whose vectors are to be
// computed, a contiguous part of sorted. run calls it when sorted has the order of the merged problem.
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
	topRows, bottomRows := m.Sizes()
	diffs, top, bottom, dead, factors := take(k, k), take(topRows, cut), take(bottomRows, n-cut), take(n-k, n),
		take(parts, k)
	m.Pack(q, top, bottom, dead)
	rows := func(part int) (lo, hi int) { return part * chunk, min((part+1)*chunk, k) }
	m.crew(parts, 0, func(part, _ int, _ []T) {
		lo, hi := rows(part)
		m.Roots(lo, hi, diffs)
		f := factors.Row(part)
		for i := range f {
			f[i] = 1
		}
		m.Factors(lo, hi, diffs, f)
	})
	if parts > 0 {
		for part := 1; part < parts; part++ {
			for i, f := range factors.Row(part) {
				factors.Data[i] *= f
			}
		}
		m.Weights(factors.Row(0))
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
		m.Vectors(lo, hi, diffs, scratch)
		m.Product(lo, hi, diffs, top, bottom, q, func(rows, cols, inner int, a []T, lda int, b []T, ldb int, c []T,
			ldc int) {
			m.mul.Mul(rows, cols, inner, a, lda, b, ldb, c, ldc, scratch[k:])
		})
	})
	m.Finish(deflated.lo, deflated.hi, dead, q)
}

// span is the numbers lo … hi−1.
type span struct{ lo, hi int }

// add extends s so that it includes i.
func (s *span) add(i int) { s.lo, s.hi = min(s.lo, i), max(s.hi, i+1) }
