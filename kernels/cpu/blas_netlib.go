//go:build cgo && (openblas || mkl)

package cpu

/*
#include <stddef.h>

// The LAPACK routines themselves, column-major, with Fortran's hidden length
// of the string at the end.
extern void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info, size_t len);
extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t len);

static int tessera_potrf(int size, char uplo, int n, void *a, int lda) {
	int info = 0;
	size == 4 ? spotrf_(&uplo, &n, a, &lda, &info, 1) : dpotrf_(&uplo, &n, a, &lda, &info, 1);
	return info;
}
*/
import "C"

import (
	"math"
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/netlib/blas/netlib"
)

// BLAS returns the routines of the C library that this build is linked with,
// one thread at a time once [SetBLASThreads] said so; ok is false if there is
// none, that is without one of the build tags openblas and mkl or without
// cgo.
func BLAS[T Element]() (r Routines[T], ok bool) {
	prepareBLAS()
	return newNetlib[T](), true
}

// netlibBLAS hands the calls to gonum's binding of CBLAS, and to LAPACK. It
// needs no scratch. Calls with nothing to do stay here: the binding wants
// slices even for a matrix without columns.
type netlibBLAS[T Element] struct {
	gemm       func(transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	syrk       func(uplo blas.Uplo, trans blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int)
	trsm, trmm func(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int)
}

// newNetlib returns the binding for T.
func newNetlib[T Element]() *netlibBLAS[T] {
	lib := netlib.Implementation{}
	return scalar.Pick[T, any](
		&netlibBLAS[float32]{gemm: lib.Sgemm, syrk: lib.Ssyrk, trsm: lib.Strsm, trmm: lib.Strmm},
		&netlibBLAS[float64]{gemm: lib.Dgemm, syrk: lib.Dsyrk, trsm: lib.Dtrsm, trmm: lib.Dtrmm},
	).(*netlibBLAS[T])
}

func (r *netlibBLAS[T]) Work(int) int { return 0 }

func (r *netlibBLAS[T]) Gemm(transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int, _ []T) {
	if !gemmTrivial(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		r.gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

func (r *netlibBLAS[T]) Syrk(uplo blas.Uplo, trans blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int, _ []T) {
	if !syrkTrivial(uplo, trans, n, k, alpha, a, lda, beta, c, ldc) {
		r.syrk(uplo, trans, n, k, alpha, a, lda, beta, c, ldc)
	}
}

func (r *netlibBLAS[T]) Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int, _ []T) {
	if !trsmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		r.trsm(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb)
	}
}

func (r *netlibBLAS[T]) Trmm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int, _ []T) {
	if !trsmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		r.trmm(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb)
	}
}

func (r *netlibBLAS[T]) Potrf(uplo blas.Uplo, n int, a []T, lda int, _ []T) (info int) {
	checkUplo(uplo)
	checkMatrix(n, n, len(a), lda)
	if n == 0 {
		return 0
	}
	info = int(C.tessera_potrf(elementSize[T](), columnMajor(uplo), C.int(n), address(a), C.int(lda)))
	return firstNaN(n, a, lda, info)
}

// elementSize returns the size of a T in bytes, which tells C one from another.
func elementSize[T Element]() C.int {
	return C.int(scalar.Size[T]())
}

// address returns where x begins, for C.
func address[T Element](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// columnMajor returns the triangle that holds, seen column-major, the
// elements of a row-major uplo triangle. The factor then is the transpose of
// the one that LAPACK speaks of, which is the one we want.
func columnMajor(uplo blas.Uplo) C.char {
	if uplo == blas.Lower {
		return 'U'
	}
	return 'L'
}

// firstNaN returns the order of the first minor with a NaN for a diagonal, or
// info. LAPACK says that a NaN is a failure; OpenBLAS and MKL compare with
// zero only and go on.
func firstNaN[T Element](n int, a []T, lda, info int) int {
	last := n
	if info > 0 {
		last = info - 1
	}
	for i := range last {
		if math.IsNaN(float64(a[i*lda+i])) {
			return i + 1
		}
	}
	return info
}
