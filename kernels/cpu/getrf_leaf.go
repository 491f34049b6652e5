package cpu

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu/isa"
)

// luLeaves is how the innermost columns of a panel are factored: in a copy of
// them by columns, which makes the columns, long and few, the vectors:
//
//	row-major          scratch, ld ≥ m
//	┌──┐               ┌──────────┐ column 0
//	│  │ m      →      ├──────────┤ column 1
//	└──┘               └──────────┘ …
//
// The kernels are those of no instruction set if there is none.
type luLeaves[T Element] struct {
	*isa.Kernels[T]
	cache int // room in elements that the columns of a leaf may take
}

// luLeavesOf returns the leaves that go with r.
func luLeavesOf[T Element](r Routines[T], c Caches) luLeaves[T] {
	if c.L2 <= 0 {
		c.L2 = 256 << 10
	}
	// Columns that do not stay in the second-level cache would come from beyond
	// it again and again.
	return luLeaves[T]{kernelsOf(r), int(min(c.L2, 1<<30)) * 5 / 8 / scalar.Size[T]()}
}

// luWidth is the number of columns that are factored in scratch: the more, the
// less is left to products with few columns, which are slow.
const luWidth = isa.LUDiagonal

// set reports whether there are kernels.
func (l *luLeaves[T]) set() bool { return l.LUUpdate != nil }

// width returns the number of columns of a leaf with m rows.
func (l *luLeaves[T]) width(m int) int {
	if m*luWidth > l.cache {
		return luWidth / 2
	}
	return luWidth
}

// block returns the number of rows in a block of a column.
func (l *luLeaves[T]) block() int {
	if !l.set() {
		return 1
	}
	return isa.LUVectors * l.Lanes
}

// ld returns the distance of the columns of a leaf with m rows: not one at
// which they meet in the same sets of a cache.
func (l *luLeaves[T]) ld(m int) int {
	line := 64 / scalar.Size[T]()
	ld := roundUp(roundUp(m, l.block()), line)
	if ld/line%2 == 0 {
		ld += line
	}
	return ld
}

// work returns the scratch, in elements, for panels of m rows and k pivots.
func (l *luLeaves[T]) work(m, k int) int {
	return l.ld(m) * min(k, luWidth)
}

// gather transposes the h×w matrix A into the columns of x.
func (l *luLeaves[T]) gather(x []T, ld int, a []T, lda, h, w int) {
	if l.Transpose == nil || h < l.Lanes || w < l.Lanes {
		for i := range h {
			o := i
			for _, v := range a[i*lda : i*lda+w] {
				x[o] = v
				o += ld
			}
		}
		return
	}
	// The last blocks overlap those before: what is copied twice is the same.
	n, size := l.Lanes, scalar.Size[T]()
	for j := 0; j < w; j += n {
		j := min(j, w-n)
		l.Transpose(at(x, j*ld), ld*size, n*size, at(a, j), lda*size, n*lda*size, h/n)
		if h%n != 0 {
			i := h - n
			l.Transpose(at(x, j*ld+i), ld*size, 0, at(a, i*lda+j), lda*size, 0, 1)
		}
	}
}

// scatter undoes gather.
func (l *luLeaves[T]) scatter(a []T, lda int, x []T, ld, h, w int) {
	if l.Transpose == nil || h < l.Lanes || w < l.Lanes {
		for i := range h {
			o := i
			row := a[i*lda : i*lda+w]
			for j := range row {
				row[j] = x[o]
				o += ld
			}
		}
		return
	}
	n, size := l.Lanes, scalar.Size[T]()
	for j := 0; j < w; j += n {
		j := min(j, w-n)
		l.Transpose(at(a, j), lda*size, n*lda*size, at(x, j*ld), ld*size, n*size, h/n)
		if h%n != 0 {
			i := h - n
			l.Transpose(at(a, i*lda+j), lda*size, 0, at(x, j*ld+i), ld*size, 0, 1)
		}
	}
}

// luColumns factors the m×n matrix, m ≥ n, whose columns lie ld apart in x,
// from left to right: each column waits for its turn, gets the interchanges and
// the updates of all before it, and then its pivot. With ipiv nil there are no
// interchanges. It returns 0, or the first column, from 1, with a zero pivot.
func luColumns[T Element](m, n int, x []T, ld int, ipiv []int) (info int) {
	for j := range n {
		col := x[j*ld : j*ld+m]
		if ipiv != nil {
			for i, r := range ipiv[:j] {
				col[i], col[r] = col[r], col[i]
			}
		}
		for k := range j {
			subtract(col[k+1:j], x[k*ld+k+1:k*ld+j], col[k])
		}
		luUpdate(col, x, ld, j)
		if ipiv != nil {
			r := j + iamax(col[j:])
			ipiv[j] = r
			if r != j {
				for o := 0; o <= j*ld; o += ld {
					x[o+j], x[o+r] = x[o+r], x[o+j]
				}
			}
		}
		pivot := col[j]
		if pivot == 0 {
			if info == 0 {
				info = j + 1
			}
			continue
		}
		divide(col[j+1:], pivot)
	}
	return info
}

// luUpdate subtracts from rows j and below of column j the products of the j
// columns before it with its own first elements.
func luUpdate[T Element](col, x []T, ld, j int) {
	k := 0
	y := col[j:]
	m := len(y)
	for ; k+4 <= j; k += 4 {
		u0, u1, u2, u3 := col[k], col[k+1], col[k+2], col[k+3]
		o := k*ld + j
		l0, l1, l2, l3 := x[o:o+m], x[o+ld:o+ld+m], x[o+2*ld:o+2*ld+m], x[o+3*ld:o+3*ld+m]
		for i, v := range y {
			v -= l0[i] * u0
			v -= l1[i] * u1
			v -= l2[i] * u2
			v -= l3[i] * u3
			y[i] = v
		}
	}
	for ; k < j; k++ {
		subtract(y, x[k*ld+j:k*ld+j+m], col[k])
	}
}

// subtract computes y −= u·x.
func subtract[T Element](y, x []T, u T) {
	x = x[:len(y)]
	for i := range y {
		y[i] -= u * x[i]
	}
}

// iamax returns the index of the first element of the largest magnitude: 0 if
// element 0 is NaN, while any other NaN is passed over. Reference: BLAS IxAMAX.
func iamax[T Element](x []T) int {
	most, at := magnitude(x[0]), 0
	for i, v := range x {
		if v = magnitude(v); v > most {
			most, at = v, i
		}
	}
	return at
}

func magnitude[T Element](v T) T {
	if v < 0 {
		return -v
	}
	return v
}

// divide divides x by the pivot: by way of its reciprocal, unless that
// overflows.
func divide[T Element](x []T, pivot T) {
	if magnitude(pivot) < safeMin[T]() {
		for i := range x {
			x[i] /= pivot
		}
		return
	}
	r := 1 / pivot
	for i := range x {
		x[i] *= r
	}
}

// safeMin returns the least positive number whose reciprocal does not overflow,
// LAPACK's xLAMCH('S').
func safeMin[T Element]() T { return T(scalar.SafeMin[T]()) }
