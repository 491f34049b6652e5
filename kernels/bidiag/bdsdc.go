package bidiag

import (
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// Leaf is the largest order that [Bdsdc] solves by [Bdsqr].
const Leaf = 32

// Bdsdc overwrites d with the singular values of the n×n matrix B, in descending order. It overwrites the first rows of the
// n×n matrices u and v with the left and right singular vectors that choose selects, by the values in that order, or with
// all if choose is nil; the other rows are undefined. d has n elements and e has n−1; e is overwritten. work holds at least
// [WorkBdsdc] elements. The result has the same bits for any crew.
//
// Values have errors of the size of rounding errors in the largest one. Elements must be finite. If the iteration
// of a leaf does not converge, the error is a *tridiag.ConvergenceError. After an error the results are undefined.
//
// Reference: LAPACK xBDSDC with COMPQ = 'I'.
func Bdsdc[T scalar.Real](d, e []T, u, v Matrix[T], work []T, tools tridiag.Tools[T], crew tridiag.Crew[T], choose tridiag.Choice[T]) error {
	n := len(d)
	if n <= Leaf {
		u.SetIdentity(0, n)
		v.SetIdentity(0, n)
		return small(d, e, u, v, work, tools.Rotate, choose)
	}
	return conquer(d, e, u, v, work, tools, crew, choose)
}

// small is Bdsdc of a matrix that is a leaf. u and v are identities.
func small[T scalar.Real](d, e []T, u, v Matrix[T], work []T, rotate tridiag.Rotations[T], choose tridiag.Choice[T]) error {
	if err := bdsqr(d, e[:max(len(d)-1, 0)], u, v, work, rotate); err != nil || choose == nil {
		return err
	}
	first, last := choose(d)
	tridiag.Keep(first, last, u, v)
	return nil
}

// conquer is Bdsdc of a matrix that is divided.
func conquer[T scalar.Real](d, e []T, u, v Matrix[T], work []T, tools tridiag.Tools[T], crew tridiag.Crew[T], choose tridiag.Choice[T]) error {
	n := len(d)
	tridiag.InChunks(n, crew, func(lo, hi int) {
		u.SetIdentity(lo, hi)
		v.SetIdentity(lo, hi)
	})
	scale := tridiag.ScaleFor(d, e, 1)
	tridiag.Multiply(d, scale)
	tridiag.Multiply(e, scale)
	dropTiny(d)
	dropTiny(e)
	defer func() { tridiag.Multiply(d, 1/scale) }()
	t := tridiag.Divide[T](n, Leaf, 1)
	sorted := make([]int32, n)
	if err := t.Solve(crew, func(part tridiag.Node) error {
		for r := range part.Hi - part.Lo {
			sorted[part.Lo+r] = int32(part.Hi - part.Lo - 1 - r)
		}
		return leaf(part.Lo, part.Hi, n, d, e, u, v, tools.Rotate)
	}); err != nil {
		return err
	}
	// order sets values to by times the values, in descending order, and chooses.
	values, first, last := make([]T, n), 0, n
	order := func(by T) {
		for i, r := range sorted {
			values[n-1-i] = d[r] * by
		}
		if choose != nil {
			chosen := slices.Clone(values)
			tridiag.Multiply(chosen, 1/scale)
			first, last = choose(chosen)
		}
	}
	scratch := func(order int) int { return tridiag.MergeScratch(order) + tools.Work(order+1) }
	err := t.Merge(crew, tools.Stop, scratch, func(part tridiag.Node, root bool, crew tridiag.Crew[T]) {
		lo, size := part.Lo, part.Hi-part.Lo
		cols := min(size+1, n-lo) // of V
		var wanted func(by T) []int32
		if root {
			wanted = func(by T) []int32 { order(by); return sorted[n-last : n-first] }
		}
		merge[T]{tridiag.NewMerge(size, tools, crew)}.run(part.Cut-lo, d[lo:part.Hi], e[lo:min(part.Hi, n-1)],
			sorted[lo:part.Hi], u.Block(lo, lo, size, size), v.Block(lo, lo, cols, cols), work[lo*rowWork(n):], wanted)
	})
	if err != nil {
		return err
	}
	copy(d, values)
	slices.Reverse(sorted)
	tridiag.Gather(sorted[first:last], crew, u, v)
	return nil
}

// dropTiny sets elements near the least normal number to zero. They are far below the rounding errors of a matrix whose
// largest element is about 1. A part that has no others cannot be scaled to 1, and quotients of squares in its merges
// would overflow.
func dropTiny[T scalar.Real](x []T) {
	least := T(scalar.SafeMin[T]() / scalar.Eps[T]())
	for i, y := range x {
		if abs(y) < least {
			x[i] = 0
		}
	}
}

// rowWork returns the number of elements of work space for each row of B of order n.
func rowWork(n int) int { return tridiag.MergeWork(n, n+1) }

// WorkBdsdc returns the number of elements of work space that [Bdsdc] needs for order n.
func WorkBdsdc(n int) int { return n * max(rowWork(n), 4) }

// leaf solves rows lo to hi−1 of B. Unless they are the last rows, they have one element in column hi. Rotations of
// that column with the others make it zero.
func leaf[T scalar.Real](lo, hi, n int, d, e []T, u, v Matrix[T], rotate tridiag.Rotations[T]) error {
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
	return Bdsqr(d[lo:hi], e[lo:max(hi-1, lo)], u.Block(lo, lo, k, k), right.Block(0, 0, k, cols), rotate)
}
