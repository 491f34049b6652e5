package op

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// onCUDA returns the constraints of the versions "cuda". How much memory they need beside their
// operands depends on the call: see [versions.Version.Memory].
func onCUDA() versions.Constraints { return versions.Constraints{Kind: "cuda"} }

// scratchUnit is the unit in bytes of scratch memory: see [cuda.Queue.Scratch].
const scratchUnit = 256

// queue is the queue of a call, with the routines for row-major matrices of T. The device's
// routines are column-major: a row-major matrix is the transpose of a column-major one in the
// same memory.
type queue[T kernels.Element] struct {
	*cuda.Queue
	s    cuda.Stream
	typ  cuda.Type
	size int64 // of an element
}

// queueOf returns the queue of a call whose operands have been checked.
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

// operand returns the matrix of Call.Args[i] on the device.
func (q queue[T]) operand(i int) stored {
	p, pitch := q.Operand(i)
	return stored{p, pitch}
}

// scratch returns scratch memory for r rows of c elements.
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

// columnMajor returns xᵀ as a column-major matrix in the same memory, the form that the device's
// routines take.
func (q queue[T]) columnMajor(x stored) cuda.Matrix {
	return cuda.Matrix{Data: x.at, Ld: max(1, int(x.pitch/q.size))}
}

// copy copies r rows of c elements.
func (q queue[T]) copy(r, c int, src, dst stored) error {
	if r == 0 || c == 0 {
		return nil
	}
	return q.s.Copy(dst.at, dst.pitch, src.at, src.pitch, int64(c)*q.size, r)
}

// gemm computes C = alpha·op(A)·op(B) + beta·C, by Cᵀ = alpha·op(B)ᵀ·op(A)ᵀ + beta·Cᵀ.
func (q queue[T]) gemm(transA, transB blas.Transpose, m, n, k int, alpha T, a, b stored, beta T,
	c stored) error {
	if m == 0 || n == 0 {
		return nil
	}
	return q.s.Gemm(q.typ, unconjugated(transB), unconjugated(transA), n, m, k, float64(alpha), q.columnMajor(b),
		q.columnMajor(a), float64(beta), q.columnMajor(c))
}

// syrk computes the uplo triangle of C = alpha·op(A)·op(A)ᵀ + beta·C, which is the other triangle
// of Cᵀ.
func (q queue[T]) syrk(uplo blas.Uplo, trans blas.Transpose, n, k int, alpha T, a stored, beta T,
	c stored) error {
	if n == 0 {
		return nil
	}
	return q.s.Syrk(q.typ, otherUplo(uplo), scalar.Flip[T](unconjugated(trans)), n, k, float64(alpha), q.columnMajor(a),
		float64(beta), q.columnMajor(c))
}

// trsm solves op(A)·X = alpha·B, by Xᵀ·op(A)ᵀ = alpha·Bᵀ, or the same from the right.
func (q queue[T]) trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int,
	alpha T, a, b stored) error {
	if m == 0 || n == 0 {
		return nil
	}
	return q.s.Trsm(q.typ, otherSide(side), otherUplo(uplo), unconjugated(trans), diag, n, m, float64(alpha),
		q.columnMajor(a), q.columnMajor(b))
}

// trmm computes C = alpha·op(A)·B, by Cᵀ = alpha·Bᵀ·op(A)ᵀ, or the same from the right. C may be
// B.
func (q queue[T]) trmm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int,
	alpha T, a, b, c stored) error {
	if m == 0 || n == 0 {
		return nil
	}
	return q.s.Trmm(q.typ, otherSide(side), otherUplo(uplo), unconjugated(trans), diag, n, m, float64(alpha),
		q.columnMajor(a), q.columnMajor(b), q.columnMajor(c))
}

// add computes C = A + beta·B for matrices of m×n. C may be A or B.
func (q queue[T]) add(m, n int, a stored, beta T, b, c stored) error {
	if m == 0 || n == 0 {
		return nil
	}
	return q.s.Geam(q.typ, n, m, 1, q.columnMajor(a), float64(beta), q.columnMajor(b), q.columnMajor(c))
}

// unconjugated returns trans without a conjugation. It panics if trans is not a transposition.
func unconjugated(trans blas.Transpose) blas.Transpose {
	switch trans {
	case blas.NoTrans:
		return blas.NoTrans
	case blas.Trans, blas.ConjTrans:
		return blas.Trans
	}
	panic(cpu.ErrTranspose)
}

// otherUplo returns the triangle of the transpose.
func otherUplo(uplo blas.Uplo) blas.Uplo {
	switch uplo {
	case blas.Lower:
		return blas.Upper
	case blas.Upper:
		return blas.Lower
	}
	panic(cpu.ErrUplo)
}

// otherSide returns the side of a factor in the transpose of a product.
func otherSide(side blas.Side) blas.Side {
	switch side {
	case blas.Left:
		return blas.Right
	case blas.Right:
		return blas.Left
	}
	panic(cpu.ErrSide)
}

// rowMajor returns x as a strided matrix: element (i, j) is pitch·i + j.
func (q queue[T]) rowMajor(x stored) cuda.Strided {
	return cuda.Strided{Data: x.at, Row: max(1, int(x.pitch/q.size)), Col: 1}
}

// rowMajorT returns xᵀ as a strided matrix in the same memory: element (i, j) of it is pitch·j +
// i. A panel is stored as its transpose.
func (q queue[T]) rowMajorT(x stored) cuda.Strided {
	s := q.rowMajor(x)
	return cuda.Strided{Data: s.Data, Row: s.Col, Col: s.Row}
}
