package bidiag

import (
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// Leaf is the largest order that [Bdsdc] solves by [Bdsqr].
const Leaf = 32

// Bdsdc overwrites d with the singular values of the n×n matrix B, in descending order. It overwrites the n×n
// matrices u and v with the left and right singular vectors as rows. d has n elements and e has n−1; e is
// overwritten. work holds at least [WorkBdsdc] elements. The result has the same bits for any crew.
//
// Values have errors of the size of rounding errors in the largest one. Elements must be finite. If the iteration
// of a leaf does not converge, the error is a *tridiag.ConvergenceError. After an error the results are undefined.
//
// Reference: LAPACK xBDSDC with COMPQ = 'I'.
func Bdsdc[T scalar.Real](d, e []T, u, v Matrix[T], work []T, tools tridiag.Tools[T], crew tridiag.Crew[T]) error {
	n := len(d)
	for i := range n {
		clear(u.Row(i))
		clear(v.Row(i))
		u.Row(i)[i], v.Row(i)[i] = 1, 1
	}
	if n <= Leaf {
		return leaf(0, n, n, d, e, u, v, tools.Rotate)
	}
	scale := tridiag.ScaleFor(d, e, 1)
	tridiag.Multiply(d, scale)
	tridiag.Multiply(e, scale)
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
	scratch := func(order int) int { return mergeScratch(order) + tools.Work(order+1) }
	err := t.Merge(crew, tools.Stop, scratch, func(part tridiag.Node, _ bool, crew tridiag.Crew[T]) {
		lo, order := part.Lo, part.Hi-part.Lo
		cols := min(order+1, n-lo) // of V
		merge[T]{tridiag.NewMerge(order, tools, crew)}.run(part.Cut-lo, d[lo:part.Hi], e[lo:min(part.Hi, n-1)],
			sorted[lo:part.Hi], u.Block(lo, lo, order, order), v.Block(lo, lo, cols, cols), work[lo*rowWork(n):])
	})
	if err != nil {
		return err
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

// rowWork returns the number of elements of work space for each row of B of order n.
func rowWork(n int) int { return 3*n + n/chunk + 4 }

// WorkBdsdc returns the number of elements of work space that [Bdsdc] needs for order n.
func WorkBdsdc(n int) int { return n * rowWork(n) }

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
