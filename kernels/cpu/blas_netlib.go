//go:build cgo && (openblas || mkl)

package cpu

/*
#include <stddef.h>

// The LAPACK routines themselves, column-major, with Fortran's hidden length
// of the string at the end.
extern void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info, size_t len);
extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t len);

static int tessera_spotrf(char uplo, int n, float *a, int lda) {
	int info = 0;
	spotrf_(&uplo, &n, a, &lda, &info, 1);
	return info;
}

static int tessera_dpotrf(char uplo, int n, double *a, int lda) {
	int info = 0;
	dpotrf_(&uplo, &n, a, &lda, &info, 1);
	return info;
}
*/
import "C"

import (
	"math"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/netlib/blas/netlib"
)

// BLAS returns the routines of the C library that this build is linked with,
// one thread at a time once [SetBLASThreads] said so; ok is false if there is
// none, that is without one of the build tags openblas and mkl or without
// cgo.
func BLAS[T Element]() (r Routines[T], ok bool) {
	prepareBLAS()
	var zero T
	var impl any = netlib64{}
	if unsafe.Sizeof(zero) == 4 {
		impl = netlib32{}
	}
	return impl.(Routines[T]), true
}

// netlib32 and netlib64 hand the calls to gonum's binding of CBLAS, and to
// LAPACK. They need no scratch. Calls with nothing to do stay here: the
// binding wants slices even for a matrix without columns.
type (
	netlib32 struct{}
	netlib64 struct{}
)

func (netlib32) Work(int) int { return 0 }
func (netlib64) Work(int) int { return 0 }

func (netlib32) Gemm(transA, transB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int, _ []float32) {
	if gemmTrivial(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		return
	}
	netlib.Implementation{}.Sgemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

func (netlib64) Gemm(transA, transB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int, _ []float64) {
	if gemmTrivial(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		return
	}
	netlib.Implementation{}.Dgemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

func (netlib32) Syrk(uplo blas.Uplo, trans blas.Transpose, n, k int, alpha float32, a []float32, lda int, beta float32, c []float32, ldc int, _ []float32) {
	if syrkTrivial(uplo, trans, n, k, alpha, a, lda, beta, c, ldc) {
		return
	}
	netlib.Implementation{}.Ssyrk(uplo, trans, n, k, alpha, a, lda, beta, c, ldc)
}

func (netlib64) Syrk(uplo blas.Uplo, trans blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int, _ []float64) {
	if syrkTrivial(uplo, trans, n, k, alpha, a, lda, beta, c, ldc) {
		return
	}
	netlib.Implementation{}.Dsyrk(uplo, trans, n, k, alpha, a, lda, beta, c, ldc)
}

func (netlib32) Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int, _ []float32) {
	if trsmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		return
	}
	netlib.Implementation{}.Strsm(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb)
}

func (netlib64) Trsm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int, _ []float64) {
	if trsmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		return
	}
	netlib.Implementation{}.Dtrsm(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb)
}

func (netlib32) Trmm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int, _ []float32) {
	if trmmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		return
	}
	netlib.Implementation{}.Strmm(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb)
}

func (netlib32) Potrf(uplo blas.Uplo, n int, a []float32, lda int, _ []float32) (info int) {
	checkUplo(uplo)
	checkMatrix(n, n, len(a), lda)
	if n == 0 {
		return 0
	}
	info = int(C.tessera_spotrf(columnMajor(uplo), C.int(n), (*C.float)(&a[0]), C.int(lda)))
	return firstNaN(n, a, lda, info)
}

func (netlib64) Trmm(side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int, _ []float64) {
	if trmmTrivial(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb) {
		return
	}
	netlib.Implementation{}.Dtrmm(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb)
}

func (netlib64) Potrf(uplo blas.Uplo, n int, a []float64, lda int, _ []float64) (info int) {
	checkUplo(uplo)
	checkMatrix(n, n, len(a), lda)
	if n == 0 {
		return 0
	}
	info = int(C.tessera_dpotrf(columnMajor(uplo), C.int(n), (*C.double)(&a[0]), C.int(lda)))
	return firstNaN(n, a, lda, info)
}

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
