package tridiag

import "github.com/tessera-la/tessera/internal/scalar"

// Leaf is the largest order that [Stedc] solves by [Steqr].
const Leaf = 48

// Tree yields the merges of a matrix of order n, children first: of rows lo to hi−1, torn before row
// cut. It depends on n alone. Orders up to Leaf are leaves, for which cut is hi.
func Tree(lo, hi int, yield func(lo, cut, hi int)) {
	if hi-lo <= Leaf {
		yield(lo, hi, hi)
		return
	}
	cut := lo + (hi-lo)/2
	Tree(lo, cut, yield)
	Tree(cut, hi, yield)
	yield(lo, cut, hi)
}

// Stedc overwrites d with the eigenvalues of T in ascending order, and q, n×n, with its eigenvectors, as
// rows. e is overwritten. work holds at least [WorkStedc] elements; mul multiplies.
//
// Elements must be finite. The error is a *ConvergenceError.
func Stedc[T scalar.Real](d, e []T, q Matrix[T], work []T, mul Gemm[T]) (err error) {
	n := len(d)
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
	defer func() { multiply(d, 1/scale) }()
	Tree(0, n, func(lo, cut, hi int) {
		if cut < hi {
			b := abs(e[cut-1])
			d[cut-1] -= b
			d[cut] -= b
		}
	})
	sorted := make([]int32, n)
	m := NewMerge[T](n)
	Tree(0, n, func(lo, cut, hi int) {
		if err != nil {
			return
		}
		order, part := hi-lo, q.Block(lo, lo, hi-lo, hi-lo)
		if cut == hi {
			err = Steqr(d[lo:hi], e[lo:hi-1], part)
			for i := range order {
				sorted[lo+i] = int32(i)
			}
			return
		}
		mergeParts(m, cut-lo, e[cut-1], d[lo:hi], sorted[lo:hi], part, work, mul)
	})
	if err != nil {
		return err
	}
	// Rows into the order of their eigenvalues, by way of the work space.
	values := m.lambda
	for i, r := range sorted {
		values[i] = d[r]
		copy(work[i*n:][:n], q.Row(int(r)))
	}
	copy(d, values)
	for i := range n {
		copy(q.Row(i), work[i*n:][:n])
	}
	return nil
}

// WorkStedc returns how many elements of work space [Stedc] needs for order n.
func WorkStedc(n int) int { return 2*n*n + 2*n }

// mergeParts makes one problem of the two in q.
func mergeParts[T scalar.Real](m *Merge[T], cut int, beta T, d []T, sorted []int32, q Matrix[T], work []T, mul Gemm[T]) {
	n := len(d)
	m.Deflate(cut, beta, d, sorted, q)
	k := m.K
	take := func(rows, cols int) Matrix[T] {
		x := Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: work[:rows*cols]}
		work = work[rows*cols:]
		return x
	}
	a, b := m.Sizes()
	s, top, bottom, dead := take(k, k), take(a, cut), take(b, n-cut), take(n-k, n)
	m.Pack(q, top, bottom, dead)
	m.Roots(0, k, s)
	w := work[:k]
	for i := range w {
		w[i] = 1
	}
	m.Factors(0, k, s, w)
	m.Weights(w)
	m.Vectors(0, k, s, w)
	m.Product(0, k, s, top, bottom, q, mul)
	m.Finish(d, sorted, dead, q)
}
