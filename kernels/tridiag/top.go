package tridiag

import "github.com/tessera-la/tessera/internal/scalar"

// Top is the last merge of divide and conquer in parts that need not be in one memory:
//
//	Half ─┐                 ┌─ Roots ─┐          ┌─ Vectors   some columns of all eigenvectors
//	      ├─ NewTop, each ──┼─ Roots ─┼─ Found ──┼─ Vectors
//	Half ─┘                 └─ Roots ─┘          └─ Vectors
//
// Each part deflates anew, which takes n operations and leaves the same wherever it is done. A part that computes columns
// of the eigenvectors needs the same columns of the eigenvectors of the half to which they belong, and no others. The bits
// depend on the number of parts that find roots, since each multiplies its factors first.
//
// References: those of the package; Tisseur and Dongarra, A parallel divide and conquer algorithm for the symmetric
// eigenvalue problem on distributed memory architectures (1999).
type Top[T scalar.Real] struct {
	merger[T]
	scale  T // by which T is multiplied
	d      []T
	sorted []int32
	q      Matrix[T]
}

// Cut returns the order of the first half of a matrix of order n.
func Cut(n int) int { return n / 2 }

// Half copies the first or the second half of T, without what couples it to the other one, to dh and eh: the diagonal
// and what is beside it. dh has the length of the half, and eh one less. n is at least 2.
func Half[T scalar.Real](d, e []T, second bool, dh, eh []T) {
	cut := Cut(len(d))
	if second {
		copy(dh, d[cut:])
		copy(eh, e[cut:])
		dh[0] -= abs(e[cut-1])
		return
	}
	copy(dh, d[:cut])
	copy(eh, e[:cut-1])
	dh[cut-1] -= abs(e[cut-1])
}

// NewTop begins the merge of the halves of T, of order n ≥ 2. values holds the eigenvalues of both, each half's in
// ascending order, and z the last element of each eigenvector of the first half and the first one of each of the second
// half. [Top.Vectors] overwrites q, of n rows, with columns of the eigenvectors. It holds these columns of the
// eigenvectors of the halves: those of one half, which is the second one if second is set, with zeros in the rows of
// the other half. q has no columns if only roots are wanted. NewTop rotates rows of q.
func NewTop[T scalar.Real](d, e, values, z []T, q Matrix[T], second bool, tools Tools[T], crew Crew[T]) *Top[T] {
	n := len(d)
	t := &Top[T]{merger[T]{NewMerge(n, tools, crew)}, ScaleFor(d, e, 1), make([]T, n), make([]int32, n), q}
	t.Behind, t.Split = Cut(n), q.Cols
	if second {
		t.Split = 0
	}
	copy(t.d, values)
	Multiply(t.d, t.scale)
	copy(t.ByRow, z)
	for i := range t.sorted {
		t.sorted[i] = int32(i)
		if i >= t.Behind {
			t.sorted[i] -= int32(t.Behind)
		}
	}
	t.deflate(e[t.Behind-1]*t.scale, t.d, t.sorted, q)
	return t
}

// The rows of what [Top.Roots] finds, which have n elements.
const (
	topTaus = iota
	topOrigins
	topFactors
	// TopRows is their number.
	TopRows
)

// Roots computes one of several parts of the roots of the secular equation. It sets found, TopRows rows of n elements, to
// what [Top.Found] needs of them. work holds at least WorkRoots(n, parts) elements.
func (t *Top[T]) Roots(part, parts int, found Matrix[T], work []T) {
	for i := range TopRows {
		clear(found.Row(i))
	}
	k := t.K
	lo, hi := part*k/parts, (part+1)*k/parts
	chunks := (hi - lo + chunk - 1) / chunk
	factors := Matrix[T]{Rows: chunks, Cols: k, Stride: k, Data: work}
	t.Crew(chunks, k, func(i, _ int, diff []T) {
		t.solve(lo+i*chunk, min(lo+(i+1)*chunk, hi), diff, factors.Row(i))
	})
	f := found.Row(topFactors)[:k]
	for i := range f {
		f[i] = 1
		for c := range chunks {
			f[i] *= factors.Row(c)[i]
		}
	}
	for j := lo; j < hi; j++ {
		found.Row(topTaus)[j], found.Row(topOrigins)[j] = t.taus[j], T(t.origins[j])
	}
}

// WorkRoots returns the number of elements of work space that [Top.Roots] needs.
func WorkRoots(n, parts int) int { return (n/parts/chunk + 2) * n }

// Found takes what [Top.Roots] has set for all parts, in their order, and sets values to the eigenvalues in ascending
// order. work holds at least n elements for each part.
func (t *Top[T]) Found(all []Matrix[T], values, work []T) {
	k := t.K
	factors := Matrix[T]{Rows: len(all), Cols: k, Stride: k, Data: work}
	q := &secular[T]{d: t.Poles[:k]}
	for part, found := range all {
		copy(factors.Row(part), found.Row(topFactors))
		for j := part * k / len(all); j < (part+1)*k/len(all); j++ {
			t.taus[j], t.origins[j] = found.Row(topTaus)[j], int32(found.Row(topOrigins)[j])
			t.roots[j] = q.value(int(t.origins[j]), t.taus[j])
		}
	}
	t.weigh(factors)
	t.order(t.d, t.sorted)
	for i, r := range t.sorted {
		values[i] = t.d[r] * (1 / t.scale)
	}
}

// Vectors computes the columns of the eigenvectors first to last−1 in ascending order of their eigenvalues, after
// [Top.Found]. It calls row for each of them. work holds at least as many elements as q.
func (t *Top[T]) Vectors(first, last int, work []T, row func(i int, x []T)) {
	t.vectors(t.sorted[first:last], []Matrix[T]{t.q}, work, t.vector)
	for i := first; i < last; i++ {
		row(i, t.q.Row(int(t.sorted[i])))
	}
}
