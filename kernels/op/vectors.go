package op

import (
	"sync"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
)

// Vectors are the routines on single vectors: for estimates of condition numbers, and for products of a symmetric
// matrix and a vector. The memory of the tiles bounds their speed.
type Vectors[T kernels.Element] struct{ r vectorRoutines[T] }

// vectorRoutines are those of [cpu.Packed], behind an interface for the reason that [Small] has.
type vectorRoutines[T kernels.Element] interface {
	Trsv(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, n int, a []T, lda int, x []T)
	Gemv(trans blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	Symv(uplo blas.Uplo, n int, alpha T, a []T, lda int, x, y []T)
	Scal(alpha T, x []T)
	Rot(x, y []T, c, s T)
}

// Trsv overwrites x with op(A)⁻¹·x for the uplo triangle of a square tile.
func (v Vectors[T]) Trsv(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, a *kernels.Tile[T], x []T) {
	v.r.Trsv(uplo, trans, diag, a.Rows, a.Data, a.Stride, x)
}

// Subtract computes y = y − op(A)·x.
func (v Vectors[T]) Subtract(trans blas.Transpose, a *kernels.Tile[T], x, y []T) {
	v.r.Gemv(trans, a.Rows, a.Cols, -1, a.Data, a.Stride, x, 1, 1, y, 1)
}

// Rot applies a plane rotation to the elements of x and y, which are as many: x = c·x + s·y, y = c·y − s·x.
func (v Vectors[T]) Rot(x, y []T, c, s T) { v.r.Rot(x, y, c, s) }

// Symv computes y = alpha·A·x + beta·y for a symmetric n×n matrix A whose uplo triangle is stored in a. The other
// triangle is not read. A and x are not read if alpha is 0, nor y if beta is 0. x and y are contiguous and do not
// overlap.
func (v Vectors[T]) Symv(uplo blas.Uplo, n int, alpha T, a []T, lda int, x []T, beta T, y []T) {
	switch beta {
	case 0:
		clear(y[:n])
	case 1:
	default:
		v.r.Scal(beta, y[:n])
	}
	v.r.Symv(uplo, n, alpha, a, lda, x[:n], y[:n])
}

// HostVectors returns the fastest routines of the machine that runs this process.
func HostVectors[T kernels.Element]() Vectors[T] {
	return scalar.Pick[T](any(host32), any(host64)).(func() Vectors[T])()
}

var (
	host32 = sync.OnceValue(func() Vectors[float32] { return Vectors[float32]{cpu.Fastest[float32](cpu.Caches{})} })
	host64 = sync.OnceValue(func() Vectors[float64] { return Vectors[float64]{cpu.Fastest[float64](cpu.Caches{})} })
)
