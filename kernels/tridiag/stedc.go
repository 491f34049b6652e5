package tridiag

import "github.com/tessera-la/tessera/internal/scalar"

// Leaf is the largest order that [Stedc] solves by [Steqr].
const Leaf = 48

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
	scale := ScaleFor(d, e, 1)
	Multiply(d, scale)
	Multiply(e, scale)
	t := Divide[T](n, Leaf, 0)
	for _, level := range t.levels {
		for _, part := range level {
			b := abs(e[part.Cut-1])
			d[part.Cut-1] -= b
			d[part.Cut] -= b
		}
	}
	sorted := make([]int32, n)
	if err := t.Solve(crew, func(leaf Node) error {
		lo, hi := leaf.Lo, leaf.Hi
		for r := range hi - lo {
			sorted[lo+r] = int32(r)
		}
		return Steqr(d[lo:hi], e[lo:hi-1], q.Block(lo, lo, hi-lo, hi-lo))
	}); err != nil {
		return err
	}
	// order sets values to the eigenvalues, and first and last to the choice, as soon as the eigenvalues are known.
	values, first, last := make([]T, n), 0, n
	order := func() {
		for i, r := range sorted {
			values[i] = d[r] * (1 / scale)
		}
		first, last = choose(values)
	}
	if len(t.levels) == 0 {
		order()
	}
	scratch := func(order int) int { return mul.Work(order) + order }
	t.Merge(crew, scratch, func(part Node, root bool, crew Crew[T]) {
		lo, size := part.Lo, part.Hi-part.Lo
		var wanted func() []int32
		if root {
			wanted = func() []int32 { order(); return sorted[first:last] }
		}
		merger[T]{NewMerge(size, mul, crew)}.run(part.Cut-lo, e[part.Cut-1], d[lo:part.Hi], sorted[lo:part.Hi],
			q.Block(lo, lo, size, size), work[2*lo*(n+1):], wanted)
	})
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

// WorkStedc returns the number of elements of work space that [Stedc] needs for order n.
func WorkStedc(n int) int { return 2 * n * (n + 1) }
