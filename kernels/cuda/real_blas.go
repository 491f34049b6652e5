//go:build cuda && linux

package cuda

import (
	"math"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cuda/internal/nvidia"
	"gonum.org/v1/gonum/blas"
	"gorgonia.org/cu"
)

// The routines of a [Stream] call the libraries. The documentation of the libraries does
// not cover calls that compute nothing, so these are done here:
//
//	no elements in the result    nothing is called
//	k = 0 or alpha = 0           C is scaled, or set to 0
//	n = 0 in a factorization     info is set to 0
//
// Scalars are passed from the host's memory, which the libraries read before they
// return. The caller provides scratch memory as work, since a routine that allocates
// would wait for the device.

// routine returns the handles for a routine of the libraries, and as op the name of the
// routine for typ, which errors use. It returns op with an error, too. Dimensions have to
// fit the int of C.
func (s *realStream) routine(typ Type, f32, f64 string, dims ...int) (h *nvidia.Handles, op string, err error) {
	op = f64
	if typ == F32 {
		op = f32
	}
	for _, n := range dims {
		if n < 0 || n > math.MaxInt32 {
			return nil, op, s.d.invalid(op, s.name, "a dimension of %d", n)
		}
	}
	h, err = s.libraries()
	return h, op, err
}

// clear sets an m×n matrix to 0. A product with 0 would keep its NaN.
func (s *realStream) clear(typ Type, m, n int, c Matrix) error {
	size := typ.Size()
	return s.in("cuMemsetD2D8Async", func() error {
		return cu.MemsetD2D8Async(cu.DevicePtr(c.Data), int64(c.Ld)*size, 0, int64(m)*size, int64(n), s.s)
	})
}

// nvidia returns a as a matrix of package nvidia.
func (a Matrix) nvidia() nvidia.Matrix { return nvidia.Matrix{At: uintptr(a.Data), Ld: a.Ld} }

// Gemm implements [Stream] by cublas<t>gemm: C = α·op(A)·op(B) + β·C.
func (s *realStream) Gemm(typ Type, transA, transB blas.Transpose, m, n, k int, alpha float64, a, b Matrix,
	beta float64, c Matrix) error {
	h, op, err := s.routine(typ, "cublasSgemm", "cublasDgemm", m, n, k, a.Ld, b.Ld, c.Ld)
	if err != nil || m == 0 || n == 0 {
		return err
	}
	if k == 0 || alpha == 0 {
		return s.scale(typ, m, n, beta, c)
	}
	return s.failedCall(op, h.Gemm(typ == F64, transA, transB, m, n, k, alpha, a.nvidia(), b.nvidia(), beta,
		c.nvidia()))
}

// Syrk implements [Stream] by cublas<t>syrk: C = α·op(A)·op(A)ᵀ + β·C, one triangle.
func (s *realStream) Syrk(typ Type, uplo blas.Uplo, trans blas.Transpose, n, k int, alpha float64, a Matrix,
	beta float64, c Matrix) error {
	h, op, err := s.routine(typ, "cublasSsyrk", "cublasDsyrk", n, k, a.Ld, c.Ld)
	if err != nil || n == 0 {
		return err
	}
	if k == 0 || alpha == 0 {
		return s.scaleTriangle(typ, uplo, n, beta, c)
	}
	return s.failedCall(op, h.Syrk(typ == F64, uplo, trans, n, k, alpha, a.nvidia(), beta, c.nvidia()))
}

// Trsm implements [Stream] by cublas<t>trsm: op(A)·X = α·B or X·op(A) = α·B, X in the
// place of B. With α = 0, X is 0 whatever is in A.
func (s *realStream) Trsm(typ Type, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int,
	alpha float64, a, b Matrix) error {
	h, op, err := s.routine(typ, "cublasStrsm", "cublasDtrsm", m, n, a.Ld, b.Ld)
	if err != nil || m == 0 || n == 0 {
		return err
	}
	if alpha == 0 {
		return s.clear(typ, m, n, b)
	}
	return s.failedCall(op, h.Trsm(typ == F64, side, uplo, trans, diag, m, n, alpha, a.nvidia(), b.nvidia()))
}

// Trmm implements [Stream] by cublas<t>trmm, which unlike BLAS's has a matrix of its
// own for the result: C = α·op(A)·B or α·B·op(A).
func (s *realStream) Trmm(typ Type, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int,
	alpha float64, a, b, c Matrix) error {
	h, op, err := s.routine(typ, "cublasStrmm", "cublasDtrmm", m, n, a.Ld, b.Ld, c.Ld)
	if err != nil || m == 0 || n == 0 {
		return err
	}
	if alpha == 0 {
		return s.clear(typ, m, n, c)
	}
	return s.failedCall(op, h.Trmm(typ == F64, side, uplo, trans, diag, m, n, alpha, a.nvidia(), b.nvidia(),
		c.nvidia()))
}

// Geam implements [Stream] by cublas<t>geam: C = α·A + β·B.
func (s *realStream) Geam(typ Type, m, n int, alpha float64, a Matrix, beta float64, b, c Matrix) error {
	h, op, err := s.routine(typ, "cublasSgeam", "cublasDgeam", m, n, a.Ld, b.Ld, c.Ld)
	if err != nil || m == 0 || n == 0 {
		return err
	}
	return s.failedCall(op, h.Geam(typ == F64, m, n, alpha, a.nvidia(), beta, b.nvidia(), c.nvidia()))
}

// PotrfWork implements [Stream] by cusolverDn<t>potrf_bufferSize, which counts elements.
func (s *realStream) PotrfWork(typ Type, uplo blas.Uplo, n int, a Matrix) (int64, error) {
	h, op, err := s.routine(typ, "cusolverDnSpotrf_bufferSize", "cusolverDnDpotrf_bufferSize", n, a.Ld)
	if err != nil || n == 0 {
		return 0, err
	}
	elements, err := h.PotrfWork(typ == F64, uplo, n, a.nvidia())
	return int64(elements) * typ.Size(), s.failedCall(op, err)
}

// Potrf implements [Stream] by cusolverDn<t>potrf, LAPACK's xPOTRF. The routine takes the
// size of work as an argument, so Potrf asks for it again.
func (s *realStream) Potrf(typ Type, uplo blas.Uplo, n int, a Matrix, work Ptr, info Ptr) error {
	h, op, err := s.routine(typ, "cusolverDnSpotrf", "cusolverDnDpotrf", n, a.Ld)
	if err != nil {
		return err
	}
	if n == 0 {
		return s.Fill(info, 0, 4)
	}
	elements, err := h.PotrfWork(typ == F64, uplo, n, a.nvidia())
	if err != nil {
		return s.failedCall(op+"_bufferSize", err)
	}
	return s.failedCall(op, h.Potrf(typ == F64, uplo, n, a.nvidia(), uintptr(work), elements, uintptr(info)))
}

// nvidia returns the table in place of a matrix.
func (a Matrices) nvidia() nvidia.Matrix { return nvidia.Matrix{At: uintptr(a.Table), Ld: a.Ld} }

// GemmBatched implements [Stream] by cublas<t>gemmBatched: one launch for all products. The
// tables of addresses are on the device.
func (s *realStream) GemmBatched(typ Type, transA, transB blas.Transpose, m, n, k int, alpha float64, a, b Matrices,
	beta float64, c Matrices, count int) error {
	h, op, err := s.routine(typ, "cublasSgemmBatched", "cublasDgemmBatched", m, n, k, a.Ld, b.Ld, c.Ld, count)
	if err != nil {
		return err
	}
	if why := badBatch(alpha, m, n, k, count); why != "" {
		return s.d.invalid(op, s.name, "%s", why)
	}
	return s.failedCall(op, h.GemmBatched(typ == F64, transA, transB, m, n, k, alpha, a.nvidia(), b.nvidia(), beta,
		c.nvidia(), count))
}

// TrsmBatched implements [Stream] by cublas<t>trsmBatched. It has no third dimension for
// badBatch, which gets m instead.
func (s *realStream) TrsmBatched(typ Type, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag,
	m, n int, alpha float64, a, b Matrices, count int) error {
	h, op, err := s.routine(typ, "cublasStrsmBatched", "cublasDtrsmBatched", m, n, a.Ld, b.Ld, count)
	if err != nil {
		return err
	}
	if why := badBatch(alpha, m, n, m, count); why != "" {
		return s.d.invalid(op, s.name, "%s", why)
	}
	return s.failedCall(op, h.TrsmBatched(typ == F64, side, uplo, trans, diag, m, n, alpha, a.nvidia(), b.nvidia(),
		count))
}

// Empty products only scale C. NVIDIA's documentation does not say that its products do
// so for k = 0, nor that they do not read A and B for alpha = 0. It does say that geam
// does not read B for beta = 0.

// scale computes C = beta·C, C being m×n. With beta = 0, C is not read.
func (s *realStream) scale(typ Type, m, n int, beta float64, c Matrix) error {
	switch {
	case m == 0 || n == 0 || beta == 1:
		return nil
	case beta == 0:
		return s.clear(typ, m, n, c)
	}
	return s.Geam(typ, m, n, beta, c, 0, c, c)
}

// scaleTriangle is scale for a triangle of an n×n matrix C. It goes column by column,
// which is slow, but such products are rare.
func (s *realStream) scaleTriangle(typ Type, uplo blas.Uplo, n int, beta float64, c Matrix) error {
	for j := range n {
		first, rows := 0, j+1
		if uplo == blas.Lower {
			first, rows = j, n-j
		}
		column := Matrix{c.Data + Ptr(int64(first+j*c.Ld)*typ.Size()), c.Ld}
		if err := s.scale(typ, rows, 1, beta, column); err != nil {
			return err
		}
	}
	return nil
}

// GeqrfWork implements [Stream] by cusolverDn<t>geqrf_bufferSize, which counts elements.
func (s *realStream) GeqrfWork(typ Type, m, n int, a Matrix) (int64, error) {
	h, op, err := s.routine(typ, "cusolverDnSgeqrf_bufferSize", "cusolverDnDgeqrf_bufferSize", m, n, a.Ld)
	if err != nil || m == 0 || n == 0 {
		return 0, err
	}
	elements, err := h.GeqrfWork(typ == F64, m, n, a.nvidia())
	return int64(elements) * typ.Size(), s.failedCall(op, err)
}

// Geqrf implements [Stream] by cusolverDn<t>geqrf, LAPACK's xGEQRF.
func (s *realStream) Geqrf(typ Type, m, n int, a Matrix, tau, work, info Ptr) error {
	h, op, err := s.routine(typ, "cusolverDnSgeqrf", "cusolverDnDgeqrf", m, n, a.Ld)
	if err != nil {
		return err
	}
	if m == 0 || n == 0 {
		return s.Fill(info, 0, 4)
	}
	elements, err := h.GeqrfWork(typ == F64, m, n, a.nvidia())
	if err != nil {
		return s.failedCall(op+"_bufferSize", err)
	}
	return s.failedCall(op, h.Geqrf(typ == F64, m, n, a.nvidia(), uintptr(tau), uintptr(work), elements, uintptr(info)))
}

// GetrfWork implements [Stream] by cusolverDnXgetrf_bufferSize.
func (s *realStream) GetrfWork(typ Type, m, n int, a Matrix) (device, host int64, err error) {
	h, op, err := s.routine(typ, "cusolverDnXgetrf_bufferSize", "cusolverDnXgetrf_bufferSize", m, n, a.Ld)
	if err != nil || m == 0 || n == 0 {
		return 0, 0, err
	}
	device, host, err = h.GetrfWork(typ == F64, m, n, a.nvidia())
	return device, host, s.failedCall(op, err)
}

// Getrf implements [Stream] by cusolverDnXgetrf, LAPACK's xGETRF. The routine takes the sizes of
// its work as arguments, so Getrf asks for them again.
func (s *realStream) Getrf(typ Type, m, n int, a Matrix, pivots, work Ptr, own unsafe.Pointer, info Ptr) error {
	h, op, err := s.routine(typ, "cusolverDnXgetrf", "cusolverDnXgetrf", m, n, a.Ld)
	if err != nil {
		return err
	}
	if m == 0 || n == 0 {
		return s.Fill(info, 0, 4)
	}
	device, host, err := h.GetrfWork(typ == F64, m, n, a.nvidia())
	if err != nil {
		return s.failedCall(op+"_bufferSize", err)
	}
	return s.failedCall(op, h.Getrf(typ == F64, m, n, a.nvidia(), uintptr(pivots), uintptr(work), device, own, host,
		uintptr(info)))
}

// Laswp implements [Stream] by cusolverDn<t>laswp, LAPACK's xLASWP, which takes pivots of 32 bits:
// the lower halves of those that Getrf leaves, every second int on a little-endian machine.
func (s *realStream) Laswp(typ Type, m, n int, a Matrix, k int, pivots Ptr) error {
	h, op, err := s.routine(typ, "cusolverDnSlaswp", "cusolverDnDlaswp", m, n, a.Ld)
	if err != nil || n == 0 || k == 0 {
		return err
	}
	return s.failedCall(op, h.Laswp(typ == F64, n, a.nvidia(), k, uintptr(pivots), 2))
}
