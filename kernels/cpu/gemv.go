package cpu

import (
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"gonum.org/v1/gonum/blas"
)

// Gemv computes
//
//	y = alpha·op(A)·x + beta·y
//
// for an m×n A; x and y are vectors whose elements are incX and incY, at least
// 1, apart. With beta = 0, y is not read; with alpha = 0, A and x are not.
//
// It reads A once and in order, where Gemm would pack it, and needs no scratch.
// On one core of a 2-core Xeon (model 167) that was also doing other work, a
// matrix in cache (n = 512) was read at 67 GB/s in float64 and 93 GB/s in
// float32 by AVX2, at 19 and 15 GB/s by Go; one in memory (n = 4096) at what
// the memory gives, 13 GB/s, where Gemm with version avx512 came to 7 GB/s, and
// transposed to 4 (go test ./kernels/cpu -run '^$' -bench Gemv, commit c56f71b).
//
// It is not part of Gemm, because in vector micro-kernels a sum has the same
// bits whatever is around it, and here it is added up in another order.
//
// Reference: BLAS xGEMV.
func (p *Packed[T]) Gemv(trans blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int) {
	rows, cols := m, n
	if checkTranspose(trans) {
		rows, cols = n, m
	}
	checkMatrix(m, n, len(a), lda)
	checkMatrix(cols, 1, len(x), incX)
	checkMatrix(rows, 1, len(y), incY)
	if rows == 0 {
		return
	}
	scale(rows, 1, beta, y, incY)
	if alpha == 0 || cols == 0 {
		return
	}
	v := matVec[T]{alpha: alpha, m: a, ld: lda, x: x, xInc: incX, y: y, yInc: incY, vectors: p.level1()}
	if trans == blas.NoTrans {
		v.rows(m, n)
	} else {
		v.columns(m, n)
	}
}

// fewRows is the least number of rows for which a call of MulVec takes less than a loop (docs/internals/measurements.md,
// "Small matrices by single reflectors").
const fewRows = 8

// matVec is y += alpha·M·x or y += alpha·Mᵀ·x for a row-major M.
type matVec[T Element] struct {
	alpha T
	m     []T
	ld    int
	x     []T
	xInc  int
	y     []T
	yInc  int

	vectors *isa.Vectors[T]
}

// vecChunk is the number of elements of a vector that are taken at a time: they stay in the first-level cache while the
// rows pass by. A vector with gaps is made contiguous, with the same chunks, so that the bits do not depend on gaps; up
// to nearChunk elements of it are on the stack.
const (
	vecChunk  = 4096
	nearChunk = 512
)

// contiguous returns memory for chunks of a vector of n elements. near has nearChunk elements.
func contiguous[T Element](n int, near []T) []T {
	if n <= len(near) {
		return near
	}
	return make([]T, min(n, vecChunk))
}

// rows computes y += alpha·M·x for an m×n M.
func (v matVec[T]) rows(m, n int) {
	if v.xInc == 1 {
		for j := 0; j < n; j += vecChunk {
			v.rowsBy(j, v.x[j:min(j+vecChunk, n)], m)
		}
		return
	}
	var near [nearChunk]T
	buf := contiguous(n, near[:])
	for j := 0; j < n; j += vecChunk {
		x := buf[:min(vecChunk, n-j)]
		for l := range x {
			x[l] = v.x[(j+l)*v.xInc]
		}
		v.rowsBy(j, x, m)
	}
}

// rowsBy adds the products of columns of M from j on with x: the inner products of its rows with x. From eight rows on,
// a kernel computes rowBlock of them at a time, and otherwise four.
func (v *matVec[T]) rowsBy(j int, x []T, m int) {
	if m >= fewRows && v.vectors.MulVec != nil {
		v.rowBlocks(j, x, m)
		return
	}
	i := 0
	for ; i+4 <= m; i += 4 {
		r0, r1 := v.m[i*v.ld+j:][:len(x)], v.m[(i+1)*v.ld+j:][:len(x)]
		r2, r3 := v.m[(i+2)*v.ld+j:][:len(x)], v.m[(i+3)*v.ld+j:][:len(x)]
		var s0, s1, s2, s3 T
		done := 0
		if v.vectors.Dots != nil {
			done, s0, s1, s2, s3 = v.dots(r0, x)
		}
		for l, s := range x[done:] {
			s0 += r0[done+l] * s
			s1 += r1[done+l] * s
			s2 += r2[done+l] * s
			s3 += r3[done+l] * s
		}
		v.y[i*v.yInc] += v.alpha * s0
		v.y[(i+1)*v.yInc] += v.alpha * s1
		v.y[(i+2)*v.yInc] += v.alpha * s2
		v.y[(i+3)*v.yInc] += v.alpha * s3
	}
	for ; i < m; i++ {
		v.y[i*v.yInc] += v.alpha * dotWith(v.vectors, v.m[i*v.ld+j:][:len(x)], x)
	}
}

// rowBlock is the number of rows of a matrix that a kernel multiplies in a call: their inner products are on the stack.
// Up to stripRows rows a kernel adds up strips of columns; with more of them, four whole rows at a time are faster. On a
// Zen 4 a matrix of order 100 took 1.04 against 1.35 µs in float64, one of order 512 35 against 32 (2026-11-30). It is the
// number of rows that decides, as parts of a product have all of them.
const (
	rowBlock  = 128
	stripRows = 256
)

// rowBlocks is rowsBy for m ≥ 8 by the kernel.
func (v *matVec[T]) rowBlocks(j int, x []T, m int) {
	var sums [rowBlock]T
	for i := 0; i < m; {
		h := min(rowBlock, m-i)
		if rest := m - i - h; 0 < rest && rest < 8 { // the kernel takes no fewer
			h -= 8
		}
		a := v.m[i*v.ld+j:]
		v.vectors.MulVec(isa.Hide(&a[:(h-1)*v.ld+len(x)][0]), v.ld, h, len(x), isa.Hide(&x[0]), isa.Hide(&sums[0]))
		if v.yInc == 1 {
			axpyWith(v.vectors, v.alpha, sums[:h], v.y[i:i+h])
		} else { // the same rounding, so that the bits do not depend on gaps
			var near [rowBlock]T
			y := near[:h]
			for r := range y {
				y[r] = v.y[(i+r)*v.yInc]
			}
			axpyWith(v.vectors, v.alpha, sums[:h], y)
			for r, s := range y {
				v.y[(i+r)*v.yInc] = s
			}
		}
		i += h
	}
}

// columns computes y += alpha·Mᵀ·x for an m×n M.
func (v matVec[T]) columns(m, n int) {
	if v.yInc == 1 {
		for j := 0; j < n; j += vecChunk {
			v.columnsTo(j, v.y[j:min(j+vecChunk, n)], m)
		}
		return
	}
	var near [nearChunk]T
	buf := contiguous(n, near[:])
	for j := 0; j < n; j += vecChunk {
		y := buf[:min(vecChunk, n-j)]
		for l := range y {
			y[l] = v.y[(j+l)*v.yInc]
		}
		v.columnsTo(j, y, m)
		for l, s := range y {
			v.y[(j+l)*v.yInc] = s
		}
	}
}

// columnsTo adds to y the products of columns of M from j on: the sum of its rows times the elements of x. A kernel adds
// up strips of columns, or four rows.
func (v *matVec[T]) columnsTo(j int, y []T, m int) {
	if 0 < m && m <= stripRows && v.vectors.StripColumns != nil {
		v.strips(j, y, m)
		return
	}
	i := 0
	for ; i+4 <= m; i += 4 {
		r0, r1 := v.m[i*v.ld+j:][:len(y)], v.m[(i+1)*v.ld+j:][:len(y)]
		r2, r3 := v.m[(i+2)*v.ld+j:][:len(y)], v.m[(i+3)*v.ld+j:][:len(y)]
		s0, s1 := v.alpha*v.x[i*v.xInc], v.alpha*v.x[(i+1)*v.xInc]
		s2, s3 := v.alpha*v.x[(i+2)*v.xInc], v.alpha*v.x[(i+3)*v.xInc]
		done := 0
		if v.vectors.Axpys != nil {
			done = v.axpys(r0, &[4]T{s0, s1, s2, s3}, y)
		}
		for l := done; l < len(y); l++ {
			y[l] += (r0[l]*s0 + r1[l]*s1) + (r2[l]*s2 + r3[l]*s3)
		}
	}
	for ; i < m; i++ {
		axpyWith(v.vectors, v.alpha*v.x[i*v.xInc], v.m[i*v.ld+j:][:len(y)], y)
	}
}

// strips is columnsTo for m ≤ stripRows by the kernel for strips.
func (v *matVec[T]) strips(j int, y []T, m int) {
	var x [stripRows]T
	for r := range m {
		x[r] = v.alpha * v.x[r*v.xInc]
	}
	a := v.m[j:][:(m-1)*v.ld+len(y)]
	for lo := 0; lo < len(y); lo += v.vectors.Strip {
		w := min(v.vectors.Strip, len(y)-lo)
		v.vectors.StripColumns(isa.Hide(&a[lo]), v.ld, m, w, isa.Hide(&x[0]), isa.Hide(&y[lo]))
	}
}

// vecStep is the number of bytes of a row that assembly takes at a time.
const vecStep = 64

// dots returns the inner products of the first elements of x with four rows,
// the first of which begins a, and how many elements that are.
func (v *matVec[T]) dots(a, x []T) (done int, s0, s1, s2, s3 T) {
	n := len(x) &^ (vecStep/int(unsafe.Sizeof(s0)) - 1)
	if n == 0 {
		return 0, 0, 0, 0, 0
	}
	var s [4]T
	v.vectors.Dots(isa.Hide(&a[0]), v.ld, n, isa.Hide(&x[0]), isa.Hide(&s))
	return n, s[0], s[1], s[2], s[3]
}

// axpys adds multiples of four rows, the first of which begins a, to the first
// elements of y, and returns how many those are.
func (v *matVec[T]) axpys(a []T, s *[4]T, y []T) (done int) {
	n := len(y) &^ (vecStep/int(unsafe.Sizeof(s[0])) - 1)
	if n == 0 {
		return 0
	}
	v.vectors.Axpys(isa.Hide(&a[0]), v.ld, n, isa.Hide(s), isa.Hide(&y[0]))
	return n
}

// LoopMulVec computes y = A·x for an A of a few rows and columns.
func LoopMulVec[T Element](a []T, lda int, x, y []T) {
	switch len(x) {
	case 2:
		x0, x1 := x[0], x[1]
		for i := range y {
			row := a[i*lda:][:2]
			y[i] = row[0]*x0 + row[1]*x1
		}
	case 3:
		x0, x1, x2 := x[0], x[1], x[2]
		for i := range y {
			row := a[i*lda:][:3]
			y[i] = row[0]*x0 + (row[1]*x1 + row[2]*x2)
		}
	case 4:
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		for i := range y {
			row := a[i*lda:][:4]
			y[i] = (row[0]*x0 + row[1]*x1) + (row[2]*x2 + row[3]*x3)
		}
	default:
		for i := range y {
			row, s, t := a[i*lda:][:len(x)], T(0), T(0)
			for j := 1; j < len(x); j += 2 {
				s += row[j-1] * x[j-1]
				t += row[j] * x[j]
			}
			if last := len(x) - 1; last%2 == 0 {
				s += row[last] * x[last]
			}
			y[i] = s + t
		}
	}
}
