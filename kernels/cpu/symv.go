package cpu

import (
	"math"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cpu/isa"
	"gonum.org/v1/gonum/blas"
)

// Symv computes
//
//	y += alpha·A·x
//
// for a symmetric n×n matrix A whose uplo triangle is stored in a. The other triangle is not read. x and y are
// contiguous, have n elements each, and do not overlap. With alpha = 0 neither A nor x is read. Like [Packed.Gemv],
// Symv reads A once and in order, and needs no scratch.
//
// Reference: BLAS xSYMV.
func (p *Packed[T]) Symv(uplo blas.Uplo, n int, alpha T, a []T, lda int, x, y []T) {
	p.SymvBy(nil, uplo, n, alpha, a, lda, x, y)
}

// SymvBy is [Packed.Symv] by a crew, of which each unit does the part of some rows. If crew is nil, the caller's
// goroutine does all rows. The bits of the result do not depend on the number of units.
func (p *Packed[T]) SymvBy(crew Crew[T], uplo blas.Uplo, n int, alpha T, a []T, lda int, x, y []T) {
	checkUplo(uplo)
	checkMatrix(n, n, len(a), lda)
	checkMatrix(1, n, len(x), max(1, n))
	checkMatrix(1, n, len(y), max(1, n))
	if alpha == 0 {
		return
	}
	v := symv[T]{alpha: alpha, a: a, lda: lda, x: x, y: y, vectors: p.level1()}
	if crew == nil || symvParts(n) == 1 {
		v.rows(uplo, n, 0, n)
		return
	}
	v.inParts(crew, uplo, n, make([]T, symvParts(n)*n))
}

// symv is one call of Symv.
type symv[T Element] struct {
	alpha   T
	a       []T
	lda     int
	x, y    []T
	vectors *isa.Vectors[T]
}

const (
	// symvMaxParts limits the parts of a product. Each has sums of its own, which one unit adds.
	symvMaxParts = 8
	// symvPartOrder is the least order of the matrix for each part of a product: on two cores of a Xeon, a reduction
	// of order 500 took 7.0 to 7.8 ms, with 256 8.1 to 10.7, one of order 1000 about the same (2026-11-29).
	symvPartOrder = 128
)

// symvParts returns the number of parts into which a product with a matrix of order n is divided: a power of two, so
// that two, four or eight units have as much to do.
func symvParts(n int) int {
	parts := 1
	for parts < symvMaxParts && n >= 2*parts*symvPartOrder {
		parts *= 2
	}
	return parts
}

// inParts adds the product to y. The parts multiply rows with about the same number of elements. Each part has n of the
// sums, which are added to y in the order of the parts.
func (v symv[T]) inParts(crew Crew[T], uplo blas.Uplo, n int, sums []T) {
	parts := symvParts(n)
	if parts == 1 {
		v.rows(uplo, n, 0, n)
		return
	}
	// bound returns the first row of a part, a multiple of 4.
	bound := func(part int) int {
		share := float64(part) / float64(parts) // of the elements, which lie in the rows before that row
		switch {
		case part == parts:
			return n
		case uplo == blas.Upper:
			return int(float64(n)*(1-math.Sqrt(1-share))) &^ 3
		}
		return int(float64(n)*math.Sqrt(share)) &^ 3
	}
	// reach returns the elements of y that the rows of a part change.
	reach := func(part int) (from, to int) {
		if uplo == blas.Upper {
			return bound(part), n
		}
		return 0, bound(part + 1)
	}
	crew(parts, 0, func(part, _ int, _ []T) {
		w := v
		w.y = sums[part*n:][:n]
		from, to := reach(part)
		clear(w.y[from:to])
		w.rows(uplo, n, bound(part), bound(part+1))
	})
	for part := range parts {
		from, to := reach(part)
		axpyWith(v.vectors, 1, sums[part*n+from:part*n+to], v.y[from:to])
	}
}

// rows adds to y the products with rows first to last−1 of the triangle, and with their mirror images in columns first
// to last−1. It takes four rows at a time. first is a multiple of 4, and so is last unless it is n.
func (v *symv[T]) rows(uplo blas.Uplo, n, first, last int) {
	kernel := v.vectors.SymvUpper
	if uplo == blas.Lower {
		kernel = v.vectors.SymvLower
	}
	if fours := (last - first) &^ 3; kernel != nil && fours > 0 {
		kernel(isa.Hide(&v.a[:(n-1)*v.lda+n][0]), v.lda, n, first, first+fours, isa.Hide(&v.x[:n][0]), isa.Hide(&v.y[:n][0]),
			isa.Hide(&v.alpha))
		first += fours
	}
	for i := first; i < last; i += 4 {
		h := min(4, n-i)
		v.diagonal(uplo == blas.Lower, i, h)
		switch lo, hi := 0, i; {
		case uplo == blas.Upper && h == 4:
			v.four(i, i+4, n)
		case uplo == blas.Lower && h == 4:
			v.four(i, lo, hi)
		case uplo == blas.Lower: // the last rows of an upper triangle are on the diagonal
			for r := i; r < n; r++ {
				v.row(r, lo, hi)
			}
		}
	}
}

// row adds to y the products with elements lo to hi−1 of row i and with their mirror images in column i. None of these
// elements is on the diagonal.
func (v *symv[T]) row(i, lo, hi int) {
	row, x, y, c := v.a[i*v.lda+lo:i*v.lda+hi], v.x[lo:hi], v.y[lo:hi], v.alpha*v.x[i]
	var s T
	for j, a := range row {
		s += a * x[j]
		y[j] += a * c
	}
	v.y[i] += v.alpha * s
}

// four does the same as row for rows i to i+3, with the kernel if there is one.
func (v *symv[T]) four(i, lo, hi int) {
	n := hi - lo
	if n == 0 {
		return
	}
	o := i*v.lda + lo
	r0, r1, r2, r3 := v.a[o:][:n], v.a[o+v.lda:][:n], v.a[o+2*v.lda:][:n], v.a[o+3*v.lda:][:n]
	x, y := v.x[lo:hi], v.y[lo:hi]
	c, s := [4]T{v.alpha * v.x[i], v.alpha * v.x[i+1], v.alpha * v.x[i+2], v.alpha * v.x[i+3]}, [4]T{}
	done := 0
	if step := vecStep / int(unsafe.Sizeof(v.alpha)); v.vectors.Symv != nil && n >= step {
		done = n &^ (step - 1)
		v.vectors.Symv(isa.Hide(&r0[0]), v.lda, done, isa.Hide(&x[0]), isa.Hide(&c), isa.Hide(&s), isa.Hide(&y[0]))
	}
	c0, c1, c2, c3, s0, s1, s2, s3 := c[0], c[1], c[2], c[3], s[0], s[1], s[2], s[3] // in registers
	for j := done; j < n; j++ {
		s0 += r0[j] * x[j]
		s1 += r1[j] * x[j]
		s2 += r2[j] * x[j]
		s3 += r3[j] * x[j]
		y[j] += (r0[j]*c0 + r1[j]*c1) + (r2[j]*c2 + r3[j]*c3)
	}
	for r, sum := range [4]T{s0, s1, s2, s3} {
		v.y[i+r] += v.alpha * sum
	}
}

// diagonal does the same as row for the triangle of order h from element (i, i) on, including the diagonal.
func (v *symv[T]) diagonal(lower bool, i, h int) {
	if h == 4 {
		v.diagonal4(lower, i)
		return
	}
	for r := i; r < i+h; r++ {
		v.y[r] += v.alpha * v.a[r*v.lda+r] * v.x[r]
		if lower {
			v.row(r, i, r)
		} else {
			v.row(r, r+1, i+h)
		}
	}
}

// diagonal4 is diagonal for a triangle of order 4, in registers.
func (v *symv[T]) diagonal4(lower bool, i int) {
	o := i*v.lda + i
	r0, r1, r2, r3 := v.a[o:][:4], v.a[o+v.lda:][:4], v.a[o+2*v.lda:][:4], v.a[o+3*v.lda:][:4]
	a01, a02, a03, a12, a13, a23 := r0[1], r0[2], r0[3], r1[2], r1[3], r2[3]
	if lower {
		a01, a02, a03, a12, a13, a23 = r1[0], r2[0], r3[0], r2[1], r3[1], r3[2]
	}
	x, y := v.x[i:][:4], v.y[i:][:4]
	x0, x1, x2, x3 := v.alpha*x[0], v.alpha*x[1], v.alpha*x[2], v.alpha*x[3]
	y[0] += (r0[0]*x0 + a01*x1) + (a02*x2 + a03*x3)
	y[1] += (a01*x0 + r1[1]*x1) + (a12*x2 + a13*x3)
	y[2] += (a02*x0 + a12*x1) + (r2[2]*x2 + a23*x3)
	y[3] += (a03*x0 + a13*x1) + (a23*x2 + r3[3]*x3)
}
