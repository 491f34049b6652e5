//go:build cgo && (openblas || mkl)

package peers

/*
#include <stddef.h>

// Fortran's entry points, with the hidden lengths of the strings at the end:
// nothing lies between them and the library. Those of LAPACKE and CBLAS would
// transpose, or check, or both. kernels/cpu says what to link.
extern void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const float *alpha,
	const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c, const int *ldc, size_t, size_t);
extern void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
	const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c, const int *ldc, size_t, size_t);
extern void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info, size_t);
extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t);

static void peer_sgemm(int n, const float *a, const float *b, float *c) {
	const float one = 1, zero = 0;
	sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1);
}

static void peer_dgemm(int n, const double *a, const double *b, double *c) {
	const double one = 1, zero = 0;
	dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1);
}

static int peer_spotrf(char uplo, int n, float *a) {
	int info = 0;
	spotrf_(&uplo, &n, a, &n, &info, 1);
	return info;
}

static int peer_dpotrf(char uplo, int n, double *a) {
	int info = 0;
	dpotrf_(&uplo, &n, a, &n, &info, 1);
	return info;
}
*/
import "C"

import (
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// linked returns the library of this build; ok is false if there is none.
func linked[T matgen.Element]() (l library[T], ok bool) {
	var lib any
	switch any(&l).(type) {
	case *library[float32]:
		lib = library[float32]{
			threads: setThreads,
			gemm: func(n int, a, b, c []float32) {
				C.peer_sgemm(C.int(n), (*C.float)(&a[0]), (*C.float)(&b[0]), (*C.float)(&c[0]))
			},
			potrf: func(uplo byte, n int, a []float32) int {
				return int(C.peer_spotrf(C.char(uplo), C.int(n), (*C.float)(&a[0])))
			},
		}
	case *library[float64]:
		lib = library[float64]{
			threads: setThreads,
			gemm: func(n int, a, b, c []float64) {
				C.peer_dgemm(C.int(n), (*C.double)(&a[0]), (*C.double)(&b[0]), (*C.double)(&c[0]))
			},
			potrf: func(uplo byte, n int, a []float64) int {
				return int(C.peer_dpotrf(C.char(uplo), C.int(n), (*C.double)(&a[0])))
			},
		}
	}
	return lib.(library[T]), true
}

func setThreads(n int) { cpu.SetBLASThreads(n) }
