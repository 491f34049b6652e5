package bidiag

import (
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// Leaf is the largest order that [Bdsdc] solves by [Bdsqr].
const Leaf = 32

// abreast is the least number of merges in a level for which each unit works on a merge of its own. With fewer, all
// units work together on one merge after the other.
const abreast = 4

// node is rows lo to hi−1 of B. Row cut is torn out and separates its two parts. In a leaf, cut is hi.
type node struct {
	lo, cut, hi int
}

// tree returns the nodes of each level, all of B first, and the leaves. They depend on n alone.
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
		grow(cut+1, hi, level+1)
	}
	grow(0, n, 0)
	return levels, leaves
}

// Bdsdc overwrites d with the singular values of the n×n matrix B, in descending order. It overwrites the n×n
// matrices u and v with the left and right singular vectors as rows. d has n elements and e has n−1; e is
// overwritten. work holds at least [WorkBdsdc] elements. The result has the same bits for any crew.
//
// Values have errors of the size of rounding errors in the largest one. Elements must be finite. If the iteration
// of a leaf does not converge, the error is a *tridiag.ConvergenceError, and the results are undefined.
//
// Reference: LAPACK xBDSDC with COMPQ = 'I'.
func Bdsdc[T scalar.Real](d, e []T, u, v Matrix[T], work []T, mul tridiag.Product[T], crew tridiag.Crew[T]) error {
	n := len(d)
	for i := range n {
		clear(u.Row(i))
		clear(v.Row(i))
		u.Row(i)[i], v.Row(i)[i] = 1, 1
	}
	if n == 0 {
		return nil
	}
	scale := scaleFor(d, e)
	multiply(d, scale)
	multiply(e, scale)
	defer func() { multiply(d, 1/scale) }()
	levels, leaves := tree(n)
	sorted := make([]int32, n)
	errs := make([]error, len(leaves))
	crew(len(leaves), 0, func(i, _ int, _ []T) {
		lo, hi := leaves[i].lo, leaves[i].hi
		errs[i] = leaf(lo, hi, n, d, e, u, v)
		for r := range hi - lo {
			sorted[lo+r] = int32(hi - lo - 1 - r)
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for depth := len(levels) - 1; depth >= 0; depth-- {
		level := levels[depth]
		mergeNode := func(i int, crew tridiag.Crew[T]) {
			part := level[i]
			order := part.hi - part.lo
			cols := min(order+1, n-part.lo) // of V
			m := newMerge(order, mul, crew)
			m.run(part.cut-part.lo, d[part.lo:part.hi], e[part.lo:min(part.hi, n-1)], sorted[part.lo:part.hi],
				u.Block(part.lo, part.lo, order, order), v.Block(part.lo, part.lo, cols, cols),
				work[part.lo*rowWork(n):])
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
		crew(len(level), mergeScratch(largest, mul),
			func(i, _ int, scratch []T) { mergeNode(i, tridiag.Alone(scratch)) })
	}
	// work holds the rows of both sides while they are brought into the order of their values.
	slices.Reverse(sorted)
	for i, r := range sorted {
		work[i] = d[r]
	}
	copy(d, work)
	sides := [2]Matrix[T]{u, v}
	crew(2, 0, func(i, _ int, _ []T) {
		space := work[i*n*n:][:n*n]
		for j, r := range sorted {
			copy(space[j*n:][:n], sides[i].Row(int(r)))
		}
		for j := range n {
			copy(sides[i].Row(j), space[j*n:])
		}
	})
	return nil
}

// scaleFor returns the power of two that makes the largest element about 1.
func scaleFor[T scalar.Real](d, e []T) T {
	most := T(0)
	for _, x := range [][]T{d, e} {
		for _, y := range x {
			most = max(most, abs(y))
		}
	}
	return tridiag.Scale[T](float64(most), 1)
}

// rowWork returns the number of elements of work space for each row of B of order n.
func rowWork(n int) int { return 3*n + n/chunk + 4 }

// WorkBdsdc returns the number of elements of work space that [Bdsdc] needs for order n.
func WorkBdsdc(n int) int { return n * rowWork(n) }

// leaf solves rows lo to hi−1 of B. Unless they are the last rows, they have one element in column hi. Rotations of
// that column with the others make it zero.
func leaf[T scalar.Real](lo, hi, n int, d, e []T, u, v Matrix[T]) error {
	cols := min(hi+1, n) - lo
	k := hi - lo
	right := v.Block(lo, lo, cols, cols)
	if cols > k {
		f := e[hi-1] // the element that the next rotation makes zero
		for i := hi - 1; i >= lo; i-- {
			c, s, r := tridiag.Rotation(d[i], f)
			d[i] = r
			tridiag.Rotate(right.Row(i-lo), right.Row(k), c, s)
			if i > lo {
				f, e[i-1] = -s*e[i-1], c*e[i-1]
			}
		}
	}
	return Bdsqr(d[lo:hi], e[lo:max(hi-1, lo)], u.Block(lo, lo, k, k), right.Block(0, 0, k, cols))
}
