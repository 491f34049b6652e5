package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/cpu/native"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Vectors are the routines on single vectors that estimates of condition numbers use. The memory
// of the tiles bounds their speed.
type Vectors[T kernels.Element] struct{ r *cpu.Packed[T] }

// VectorsFor returns the fastest routines for workers of the calling machine.
func VectorsFor[T kernels.Element](here *versions.Target) Vectors[T] {
	for _, set := range native.Sets() {
		if p, ok := cpu.Native[T](set, cpu.Caches{}); ok && needs(set).Unmet(here) == "" {
			return Vectors[T]{p}
		}
	}
	return Vectors[T]{cpu.Portable[T]()}
}

// Trsv overwrites x with op(A)⁻¹·x for the uplo triangle of a square tile.
func (v Vectors[T]) Trsv(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, a *kernels.Tile[T], x []T) {
	v.r.Trsv(uplo, trans, diag, a.Rows, a.Data, a.Stride, x)
}

// Subtract computes y = y − op(A)·x.
func (v Vectors[T]) Subtract(trans blas.Transpose, a *kernels.Tile[T], x, y []T) {
	v.r.Gemv(trans, a.Rows, a.Cols, -1, a.Data, a.Stride, x, 1, 1, y, 1)
}
