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
// Elements must be finite. If the iteration of a leaf does not converge, the error is a *ConvergenceError. After an
// error the results are undefined.
//
// Reference: LAPACK xSTEDC.
func Stedc[T scalar.Real](d, e []T, q Matrix[T], work []T, tools Tools[T], crew Crew[T], choose Choice[T]) error {
	n := len(d)
	if n <= Leaf {
		q.SetIdentity(0, n)
		if n < 2 {
			return nil
		}
		return small(d, e, q, work, tools.Rotate, choose)
	}
	return conquer(d, e, q, work, tools, crew, choose)
}

// SetIdentity sets rows lo to hi−1 of q to those of the identity.
func (q Matrix[T]) SetIdentity(lo, hi int) {
	for i := lo; i < hi; i++ {
		clear(q.Row(i))
		q.Row(i)[i] = 1
	}
}

// InChunks calls do for all of n rows, some of them at a time.
func InChunks[T scalar.Real](n int, crew Crew[T], do func(lo, hi int)) {
	crew((n+chunk-1)/chunk, 0, func(part, _ int, _ []T) { do(part*chunk, min((part+1)*chunk, n)) })
}

// small is Stedc of a matrix that is a leaf. q is the identity.
func small[T scalar.Real](d, e []T, q Matrix[T], work []T, rotate Rotations[T], choose Choice[T]) error {
	if err := steqr(d, e[:len(d)-1], q, work, rotate); err != nil || choose == nil {
		return err
	}
	first, last := choose(d)
	Keep(first, last, q)
	return nil
}

// Keep moves rows first … last−1 of each matrix to the first rows.
func Keep[T scalar.Real](first, last int, matrices ...Matrix[T]) {
	for i := first; i < last && first > 0; i++ {
		for _, q := range matrices {
			copy(q.Row(i-first), q.Row(i))
		}
	}
}

// conquer is Stedc of a matrix that is divided.
func conquer[T scalar.Real](d, e []T, q Matrix[T], work []T, tools Tools[T], crew Crew[T], choose Choice[T]) error {
	n := len(d)
	if choose == nil {
		choose = func(values []T) (first, last int) { return 0, len(values) }
	}
	InChunks(n, crew, q.SetIdentity)
	t := tear(d, e)
	if err := t.solve(crew, tools.Rotate, func(lo, order int) Matrix[T] { return q.Block(lo, lo, order, order) }); err != nil {
		return err
	}
	// order sets values to the eigenvalues, and first and last to the choice, as soon as the eigenvalues are known.
	values, first, last := make([]T, n), 0, n
	order := func() {
		t.values(values)
		first, last = choose(values)
	}
	scratch := func(order int) int { return tools.Work(order) + MergeScratch(order) }
	if err := t.Merge(crew, tools.Stop, scratch, func(part Node, root bool, crew Crew[T]) {
		lo, size := part.Lo, part.Hi-part.Lo
		var wanted func() []int32
		if root {
			wanted = func() []int32 { order(); return t.sorted[first:last] }
		}
		merger[T]{NewMerge(size, tools, crew)}.run(part.Cut-lo, part.Cut-lo, e[part.Cut-1], d[lo:part.Hi],
			t.sorted[lo:part.Hi], q.Block(lo, lo, size, size), work[lo*MergeWork(n, n):], wanted)
	}); err != nil {
		return err
	}
	copy(d, values)
	Gather(t.sorted[first:last], crew, q)
	return nil
}

// WorkStedc returns the number of elements of work space that [Stedc] needs for order n.
func WorkStedc(n int) int { return n * MergeWork(n, n) }

// gatherColumns is the number of columns in which one part puts rows in order.
const gatherColumns = 512

// Gather moves the rows of each matrix whose numbers are in from, all different, to the first rows, in that order.
// What the other rows hold is undefined then.
func Gather[T scalar.Real](from []int32, crew Crew[T], matrices ...Matrix[T]) {
	for _, x := range matrices {
		crew((x.Cols+gatherColumns-1)/gatherColumns, gatherColumns, func(part, _ int, row []T) {
			lo := part * gatherColumns
			gather(x.Block(0, lo, x.Rows, min(gatherColumns, x.Cols-lo)), from, row)
		})
	}
}

// gather is Gather of one matrix. row is scratch of the length of a row.
func gather[T scalar.Real](x Matrix[T], from []int32, row []T) {
	row = row[:x.Cols]
	read, done := make([]bool, x.Rows), make([]bool, len(from))
	for _, r := range from {
		read[r] = true
	}
	for i := range from {
		if read[i] {
			continue
		}
		// Nothing needs row i. It is filled, then the row that it was filled from, and so on.
		for i < len(from) {
			done[i] = true
			copy(x.Row(i), x.Row(int(from[i])))
			i = int(from[i])
		}
	}
	for i := range from {
		if done[i] {
			continue
		}
		// Row i is one of a cycle.
		copy(row, x.Row(i))
		j := i
		for int(from[j]) != i {
			done[j] = true
			copy(x.Row(j), x.Row(int(from[j])))
			j = int(from[j])
		}
		done[j] = true
		copy(x.Row(j), row)
	}
}

// torn is a matrix T that is divided.
type torn[T scalar.Real] struct {
	Tree[T]
	d, e   []T
	scale  T       // by which they are multiplied
	sorted []int32 // the rows of each part that is solved, in ascending order of their eigenvalues, counted from its beginning
}

// tear scales d and e, divides T, and subtracts what couples the parts from d.
func tear[T scalar.Real](d, e []T) *torn[T] {
	t := &torn[T]{Divide[T](len(d), Leaf, 0), d, e, ScaleFor(d, e, 1), make([]int32, len(d))}
	Multiply(d, t.scale)
	Multiply(e, t.scale)
	for _, level := range t.levels {
		for _, part := range level {
			b := abs(e[part.Cut-1])
			d[part.Cut-1] -= b
			d[part.Cut] -= b
		}
	}
	return t
}

// solve solves the leaves. It multiplies what rows returns for a leaf by the leaf's eigenvectors.
func (t *torn[T]) solve(crew Crew[T], rotate Rotations[T], rows func(lo, order int) Matrix[T]) error {
	return t.Solve(crew, func(leaf Node) error {
		lo, hi := leaf.Lo, leaf.Hi
		for r := range hi - lo {
			t.sorted[lo+r] = int32(r)
		}
		return Steqr(t.d[lo:hi], t.e[lo:hi-1], rows(lo, hi-lo), rotate)
	})
}

// values sets x to the eigenvalues, in ascending order.
func (t *torn[T]) values(x []T) {
	for i, r := range t.sorted {
		x[i] = t.d[r] * (1 / t.scale)
	}
}
