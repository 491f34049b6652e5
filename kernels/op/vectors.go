package op

import (
	"sync"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Vectors is what is done with single vectors beside the operations: estimates of condition
// numbers substitute with a few of them, which is bound by the memory that tiles come from.
type Vectors[T kernels.Element] struct{ r *cpu.Packed[T] }

// VectorsFor returns the fastest for workers of the calling machine.
func VectorsFor[T kernels.Element](here *versions.Target) Vectors[T] {
	native := avx2().Unmet(here) == ""
	if scalar.Of[T]() == scalar.Float32 {
		return any(vectors32(native)).(Vectors[T])
	}
	return any(vectors64(native)).(Vectors[T])
}

func newVectors[T kernels.Element](native bool) Vectors[T] {
	if p, ok := cpu.AVX2[T](cpu.Caches{}); ok && native {
		return Vectors[T]{p}
	}
	return Vectors[T]{cpu.Portable[T]()}
}

// both makes one thing with assembly and one without, when they are first asked for.
func both[V any](make func(native bool) V) func(native bool) V {
	with := sync.OnceValue(func() V { return make(true) })
	without := sync.OnceValue(func() V { return make(false) })
	return func(native bool) V {
		if native {
			return with()
		}
		return without()
	}
}

// vectors32 and vectors64 keep what VectorsFor returns.
var (
	vectors32 = both(newVectors[float32])
	vectors64 = both(newVectors[float64])
)

// Trsv overwrites x with op(A)⁻¹·x for the uplo triangle of a square tile.
func (v Vectors[T]) Trsv(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, a *kernels.Tile[T], x []T) {
	v.r.Trsv(uplo, trans, diag, a.Rows, a.Data, a.Stride, x)
}

// Subtract computes y = y − op(A)·x.
func (v Vectors[T]) Subtract(trans blas.Transpose, a *kernels.Tile[T], x, y []T) {
	v.r.Gemv(trans, a.Rows, a.Cols, -1, a.Data, a.Stride, x, 1, 1, y, 1)
}
