package dropin

import (
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/la"
)

// The routines on vectors whose elements follow each other. Vectors with gaps, and those of fewer than
// fewElements elements, are gonum's, and so are wrong arguments, for which gonum panics. Long vectors are
// worked on by several cores, in pieces of one length, so the bits do not depend on how many cores there are.
//
// Reference: BLAS level 1.

// fewElements is the length below which a call of a kernel costs more than it gains.
const fewElements = 16

// longPiece is the number of elements of a vector that a core takes. Shorter vectors are in the cache of one
// core, and done before another one has begun.
const longPiece = 1 << 16

// unitStride reports whether vectors of n elements, n at least fewElements, lie in x and y without gaps.
func unitStride[T la.Element](n int, x []T, incX int, y []T, incY int) bool {
	return n >= fewElements && incX == 1 && incY == 1 && n <= len(x) && n <= len(y)
}

// pieces calls f for the pieces of n elements, on several cores.
func pieces(co *core, n int, f func(lo, hi int)) {
	each(co, (n+longPiece-1)/longPiece, func(i int) { f(i*longPiece, min((i+1)*longPiece, n)) })
}

// total returns the sum of what f returns for the pieces of n elements.
func total[T la.Element](co *core, n int, f func(lo, hi int) T) (s T) {
	sums := make([]T, (n+longPiece-1)/longPiece)
	pieces(co, n, func(lo, hi int) { sums[lo/longPiece] = f(lo, hi) })
	for _, v := range sums {
		s += v
	}
	return s
}

// Long vectors. The routines below give short ones to the kernel themselves, as each call on the way takes a tenth of the
// time of 100 elements.

func dot[T la.Element](co *core, k *cpu.Packed[T], x, y []T) T {
	return total(co, len(x), func(lo, hi int) T { return k.Dot(x[lo:hi], y[lo:hi]) })
}

func asum[T la.Element](co *core, k *cpu.Packed[T], x []T) T {
	return total(co, len(x), func(lo, hi int) T { return k.Asum(x[lo:hi]) })
}

func axpy[T la.Element](co *core, k *cpu.Packed[T], alpha T, x, y []T) {
	pieces(co, len(x), func(lo, hi int) { k.Axpy(alpha, x[lo:hi], y[lo:hi]) })
}

func scal[T la.Element](co *core, k *cpu.Packed[T], alpha T, x []T) {
	pieces(co, len(x), func(lo, hi int) { k.Scal(alpha, x[lo:hi]) })
}

// Ddot returns Σ x·y. It panics as gonum's does.
func (b BLAS) Ddot(n int, x []float64, incX int, y []float64, incY int) float64 {
	if !unitStride(n, x, incX, y, incY) {
		return b.Implementation.Ddot(n, x, incX, y, incY)
	}
	if n <= longPiece {
		return b.core.host64().Dot(x[:n], y[:n])
	}
	return dot(b.core, b.core.host64(), x[:n], y[:n])
}

// Sdot is Ddot in float32.
func (b BLAS) Sdot(n int, x []float32, incX int, y []float32, incY int) float32 {
	if !unitStride(n, x, incX, y, incY) {
		return b.Implementation.Sdot(n, x, incX, y, incY)
	}
	if n <= longPiece {
		return b.core.host32().Dot(x[:n], y[:n])
	}
	return dot(b.core, b.core.host32(), x[:n], y[:n])
}

// Daxpy computes y += alpha·x. It panics as gonum's does.
func (b BLAS) Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int) {
	if alpha == 0 || !unitStride(n, x, incX, y, incY) {
		b.Implementation.Daxpy(n, alpha, x, incX, y, incY)
		return
	}
	if n <= longPiece {
		b.core.host64().Axpy(alpha, x[:n], y[:n])
		return
	}
	axpy(b.core, b.core.host64(), alpha, x[:n], y[:n])
}

// Saxpy is Daxpy in float32.
func (b BLAS) Saxpy(n int, alpha float32, x []float32, incX int, y []float32, incY int) {
	if alpha == 0 || !unitStride(n, x, incX, y, incY) {
		b.Implementation.Saxpy(n, alpha, x, incX, y, incY)
		return
	}
	if n <= longPiece {
		b.core.host32().Axpy(alpha, x[:n], y[:n])
		return
	}
	axpy(b.core, b.core.host32(), alpha, x[:n], y[:n])
}

// Dscal computes x = alpha·x, and x = 0 if alpha is 0. It panics as gonum's does.
func (b BLAS) Dscal(n int, alpha float64, x []float64, incX int) {
	if alpha == 0 || !unitStride(n, x, incX, x, incX) {
		b.Implementation.Dscal(n, alpha, x, incX)
		return
	}
	if n <= longPiece {
		b.core.host64().Scal(alpha, x[:n])
		return
	}
	scal(b.core, b.core.host64(), alpha, x[:n])
}

// Sscal is Dscal in float32.
func (b BLAS) Sscal(n int, alpha float32, x []float32, incX int) {
	if alpha == 0 || !unitStride(n, x, incX, x, incX) {
		b.Implementation.Sscal(n, alpha, x, incX)
		return
	}
	if n <= longPiece {
		b.core.host32().Scal(alpha, x[:n])
		return
	}
	scal(b.core, b.core.host32(), alpha, x[:n])
}

// Drot applies a plane rotation, x, y = c·x + s·y, c·y − s·x. It panics as gonum's does.
func (b BLAS) Drot(n int, x []float64, incX int, y []float64, incY int, c, s float64) {
	if !unitStride(n, x, incX, y, incY) {
		b.Implementation.Drot(n, x, incX, y, incY, c, s)
		return
	}
	b.core.host64().Rot(x[:n], y[:n], c, s)
}

// Srot is Drot in float32.
func (b BLAS) Srot(n int, x []float32, incX int, y []float32, incY int, c, s float32) {
	if !unitStride(n, x, incX, y, incY) {
		b.Implementation.Srot(n, x, incX, y, incY, c, s)
		return
	}
	b.core.host32().Rot(x[:n], y[:n], c, s)
}

// Dnrm2 returns √(Σ x²), without overflow or underflow on the way. It panics as gonum's does.
func (b BLAS) Dnrm2(n int, x []float64, incX int) float64 {
	if !unitStride(n, x, incX, x, incX) {
		return b.Implementation.Dnrm2(n, x, incX)
	}
	return b.core.host64().Nrm2(x[:n])
}

// Snrm2 is Dnrm2 in float32.
func (b BLAS) Snrm2(n int, x []float32, incX int) float32 {
	if !unitStride(n, x, incX, x, incX) {
		return b.Implementation.Snrm2(n, x, incX)
	}
	return b.core.host32().Nrm2(x[:n])
}

// Dasum returns Σ |x|. It panics as gonum's does.
func (b BLAS) Dasum(n int, x []float64, incX int) float64 {
	if !unitStride(n, x, incX, x, incX) {
		return b.Implementation.Dasum(n, x, incX)
	}
	if n <= longPiece {
		return b.core.host64().Asum(x[:n])
	}
	return asum(b.core, b.core.host64(), x[:n])
}

// Sasum is Dasum in float32.
func (b BLAS) Sasum(n int, x []float32, incX int) float32 {
	if !unitStride(n, x, incX, x, incX) {
		return b.Implementation.Sasum(n, x, incX)
	}
	if n <= longPiece {
		return b.core.host32().Asum(x[:n])
	}
	return asum(b.core, b.core.host32(), x[:n])
}

// Idamax returns the first index of the greatest magnitude. It panics as gonum's does.
func (b BLAS) Idamax(n int, x []float64, incX int) int {
	if !unitStride(n, x, incX, x, incX) {
		return b.Implementation.Idamax(n, x, incX)
	}
	return b.core.host64().Iamax(x[:n])
}

// Isamax is Idamax in float32.
func (b BLAS) Isamax(n int, x []float32, incX int) int {
	if !unitStride(n, x, incX, x, incX) {
		return b.Implementation.Isamax(n, x, incX)
	}
	return b.core.host32().Iamax(x[:n])
}
