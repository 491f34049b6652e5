package cpu

import (
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// Laswp exchanges, in the n columns of the panel B whose rows the blocks hold
// from top to bottom, row i with row ipiv[i], for i = 0, 1, …: B = Pᵀ·B for the
// P of [LU.Getrf]. If inverse, it begins with the last one: B = P·B. It panics
// if a row is not in the panel. Reference: LAPACK xLASWP.
func (l *LU[T]) Laswp(n int, b []Block[T], ipiv []int, inverse bool) {
	m := checkBlocks(n, b)
	if len(ipiv) > m {
		panic(ErrPivots)
	}
	for _, r := range ipiv {
		if r < 0 || r >= m {
			panic(ErrPivots)
		}
	}
	if n == 0 {
		return
	}
	l.leaves.swapRows(b, 0, n, 0, ipiv, inverse)
}

// swapRows exchanges row c+i with row ipiv[i] in the n columns from j on, for i
// = 0, 1, …, or if backward from the last to 0.
func (l *luLeaves[T]) swapRows(a []Block[T], j, n, c int, ipiv []int, backward bool) {
	i, end, step := 0, len(ipiv), 1
	if backward {
		i, end, step = end-1, -1, -1
	}
	if i == end {
		return
	}
	y := rowOf(a, ipiv[i], j, n)
	for i != end {
		r := c + i
		same := r == ipiv[i]
		now := y
		// The rows that come next are anywhere: they are asked for in time.
		if i += step; i != end {
			y = rowOf(a, ipiv[i], j, n)
		}
		if !same {
			exchange(l.Kernels, rowOf(a, r, j, n), now, y)
		}
	}
}

// rowOf returns the n > 0 elements from column j on of row i.
func rowOf[T Element](a []Block[T], i, j, n int) []T {
	b := 0
	for i >= a[b].Rows {
		i -= a[b].Rows
		b++
	}
	o := i*a[b].Stride + j
	return a[b].Data[o : o+n : o+n]
}

// exchange exchanges the elements of x and y, which do not overlap, and fetches
// next, which is as long.
func exchange[T Element](k *isa.Kernels[T], x, y, next []T) {
	if k.Exchange == nil {
		exchangeRows(x, y)
		return
	}
	k.Exchange(at(x, 0), at(y, 0), at(next, 0), len(x)*int(unsafe.Sizeof(x[0])))
}

// exchangeRows is exchange in Go. Long rows go through a buffer in the
// first-level cache: the runtime copies by vectors.
func exchangeRows[T Element](x, y []T) {
	const chunk = 128
	var buf [chunk]T
	for len(x) >= 16 {
		n := min(len(x), chunk)
		copy(buf[:n], x[:n])
		copy(x[:n], y[:n])
		copy(y[:n], buf[:n])
		x, y = x[n:], y[n:]
	}
	y = y[:len(x)]
	for i, v := range x {
		x[i], y[i] = y[i], v
	}
}
