package op

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// The versions "cuda" enqueue work on the stream of a device, of which the
// routines are column-major: a row-major matrix is the transpose of a
// column-major one in the same memory.

// onCUDA is what versions "cuda" ask of a worker. What they need beside their
// operands depends on the call: see [versions.Version.Memory].
func onCUDA() versions.Constraints { return versions.Constraints{Kind: "cuda"} }

// scratchUnit is what scratch memory comes in: see [cuda.Queue.Scratch].
const scratchUnit = 256

// queue is a call's queue with the routines for row-major matrices of T.
type queue[T kernels.Element] struct {
	*cuda.Queue
	s    cuda.Stream
	typ  cuda.Type
	size int64 // of an element
}

// queueOf returns the queue of a call, which has been checked.
func queueOf[T kernels.Element](call *versions.Call) queue[T] {
	q, ok := call.Device.(*cuda.Queue)
	if !ok {
		panic(kernels.ErrDevice)
	}
	typ := scalar.Pick[T](cuda.F32, cuda.F64)
	return queue[T]{q, q.Stream(), typ, typ.Size()}
}

// stored is a row-major matrix on the device, its rows pitch bytes apart.
type stored struct {
	at    cuda.Ptr
	pitch int64
}

// operand returns where Call.Args[i] is.
func (q queue[T]) operand(i int) stored {
	p, pitch := q.Operand(i)
	return stored{p, pitch}
}

// scratch returns room for r rows of c elements.
func (q queue[T]) scratch(r, c int) (stored, error) {
	pitch := int64(c) * q.size
	p, err := q.Scratch(int64(r) * pitch)
	return stored{p, pitch}, err
}

// from returns x from element (i, j) on.
func (q queue[T]) from(x stored, i, j int) stored {
	x.at += cuda.Ptr(int64(i)*x.pitch + int64(j)*q.size)
	return x
}

// turned returns xᵀ as the device's routines see it.
func (q queue[T]) turned(x stored) cuda.Matrix {
	return cuda.Matrix{Data: x.at, Ld: max(1, int(x.pitch/q.size))}
}

// copy copies r rows of c elements.
func (q queue[T]) copy(r, c int, src, dst stored) error {
	if r == 0 || c == 0 {
		return nil
	}
	return q.s.Copy(dst.at, dst.pitch, src.at, src.pitch, int64(c)*q.size, r)
}

// gemm computes C = alpha·op(A)·op(B) + beta·C: Cᵀ = alpha·op(B)ᵀ·op(A)ᵀ + beta·Cᵀ.
func (q queue[T]) gemm(transA, transB blas.Transpose, m, n, k int, alpha float64, a, b stored, beta float64, c stored) error {
	if m == 0 || n == 0 {
		return nil
	}
	return q.s.Gemm(q.typ, plain(transB), plain(transA), n, m, k, alpha, q.turned(b), q.turned(a), beta, q.turned(c))
}

// syrk computes a triangle of C = alpha·op(A)·op(A)ᵀ + beta·C, which is the
// other one of Cᵀ.
func (q queue[T]) syrk(uplo blas.Uplo, trans blas.Transpose, n, k int, alpha float64, a stored, beta float64, c stored) error {
	if n == 0 {
		return nil
	}
	return q.s.Syrk(q.typ, opposite(uplo), scalar.Flip[T](plain(trans)), n, k, alpha, q.turned(a), beta, q.turned(c))
}

// trsm solves op(A)·X = alpha·B: Xᵀ·op(A)ᵀ = alpha·Bᵀ, or the same from the
// right.
func (q queue[T]) trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float64, a, b stored) error {
	if m == 0 || n == 0 {
		return nil
	}
	return q.s.Trsm(q.typ, facing(side), opposite(uplo), plain(trans), diag, n, m, alpha, q.turned(a), q.turned(b))
}

// trmm computes C = alpha·op(A)·B: Cᵀ = alpha·Bᵀ·op(A)ᵀ, or the same from the
// right. C may be B.
func (q queue[T]) trmm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float64, a, b, c stored) error {
	if m == 0 || n == 0 {
		return nil
	}
	return q.s.Trmm(q.typ, facing(side), opposite(uplo), plain(trans), diag, n, m, alpha, q.turned(a), q.turned(b), q.turned(c))
}

// add computes C = A + beta·B for matrices of m×n. C may be A or B.
func (q queue[T]) add(m, n int, a stored, beta float64, b, c stored) error {
	if m == 0 || n == 0 {
		return nil
	}
	return q.s.Geam(q.typ, n, m, 1, q.turned(a), beta, q.turned(b), q.turned(c))
}

// plain returns trans without a conjugation.
func plain(trans blas.Transpose) blas.Transpose {
	switch trans {
	case blas.NoTrans:
		return blas.NoTrans
	case blas.Trans, blas.ConjTrans:
		return blas.Trans
	}
	panic(cpu.ErrTranspose)
}

// opposite returns the triangle of the transpose.
func opposite(uplo blas.Uplo) blas.Uplo {
	switch uplo {
	case blas.Lower:
		return blas.Upper
	case blas.Upper:
		return blas.Lower
	}
	panic(cpu.ErrUplo)
}

// facing returns the side of a factor in the transpose of a product.
func facing(side blas.Side) blas.Side {
	switch side {
	case blas.Left:
		return blas.Right
	case blas.Right:
		return blas.Left
	}
	panic(cpu.ErrSide)
}
