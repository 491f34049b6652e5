//go:build cgo && (openblas || mkl)

package peers

/*
#include <stddef.h>

// Fortran's entry points, with the hidden lengths of the strings at the end:
// nothing lies between them and the library. Those of LAPACKE and CBLAS would
// transpose, or check, or both. kernels/cpu says what to link.

#define ROUTINES(p, T) \
	extern void p##gemm_(const char *, const char *, const int *, const int *, const int *, const T *, \
		const T *, const int *, const T *, const int *, const T *, T *, const int *, size_t, size_t); \
	extern void p##potrf_(const char *, const int *, T *, const int *, int *, size_t); \
	extern void p##getrf_(const int *, const int *, T *, const int *, int *, int *); \
	extern void p##geqrf_(const int *, const int *, T *, const int *, T *, T *, const int *, int *); \
	extern void p##gesv_(const int *, const int *, T *, const int *, int *, T *, const int *, int *); \
	extern void p##posv_(const char *, const int *, const int *, T *, const int *, T *, const int *, int *, size_t); \
	extern void p##gels_(const char *, const int *, const int *, const int *, T *, const int *, T *, const int *, \
		T *, const int *, int *, size_t);

ROUTINES(s, float)
ROUTINES(d, double)

// The first argument of what is called here is the size of an element.
#define CALL(size, name, ...) ((size) == 4 ? s##name(__VA_ARGS__) : d##name(__VA_ARGS__))

static void peer_gemm(int size, int n, void *a, void *b, void *c) {
	const float ones = 1, zeros = 0;
	const double oned = 1, zerod = 0;
	if (size == 4)
		sgemm_("N", "N", &n, &n, &n, &ones, a, &n, b, &n, &zeros, c, &n, 1, 1);
	else
		dgemm_("N", "N", &n, &n, &n, &oned, a, &n, b, &n, &zerod, c, &n, 1, 1);
}

static int peer_potrf(int size, char uplo, int n, void *a) {
	int info = 0;
	CALL(size, potrf_, &uplo, &n, a, &n, &info, 1);
	return info;
}

static int peer_getrf(int size, int m, int n, void *a, int *ipiv) {
	int info = 0;
	CALL(size, getrf_, &m, &n, a, &m, ipiv, &info);
	return info;
}

static int peer_geqrf(int size, int m, int n, void *a, void *tau, void *work, int lwork) {
	int info = 0;
	CALL(size, geqrf_, &m, &n, a, &m, tau, work, &lwork, &info);
	return info;
}

static int peer_gesv(int size, int n, int nrhs, void *a, int *ipiv, void *b) {
	int info = 0;
	CALL(size, gesv_, &n, &nrhs, a, &n, ipiv, b, &n, &info);
	return info;
}

static int peer_posv(int size, char uplo, int n, int nrhs, void *a, void *b) {
	int info = 0;
	CALL(size, posv_, &uplo, &n, &nrhs, a, &n, b, &n, &info, 1);
	return info;
}

static int peer_gels(int size, int m, int n, int nrhs, void *a, void *b, void *work, int lwork) {
	int info = 0;
	CALL(size, gels_, "N", &m, &n, &nrhs, a, &m, b, &m, work, &lwork, &info, 1);
	return info;
}
*/
import "C"

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// linked returns the library of this build; ok is false if there is none.
func linked[T matgen.Element]() (l library[T], ok bool) {
	var zero T
	size := C.int(unsafe.Sizeof(zero))
	at := func(x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }
	return library[T]{
		threads: func(n int) { cpu.SetBLASThreads(n) },
		gemm:    func(n int, a, b, c []T) { C.peer_gemm(size, C.int(n), at(a), at(b), at(c)) },
		potrf: func(uplo byte, n int, a []T) int {
			return int(C.peer_potrf(size, C.char(uplo), C.int(n), at(a)))
		},
		getrf: func(m, n int, a []T, ipiv []int32) int {
			return int(C.peer_getrf(size, C.int(m), C.int(n), at(a), ints(ipiv)))
		},
		geqrf: func(m, n int, a, tau, work []T) int {
			return int(C.peer_geqrf(size, C.int(m), C.int(n), at(a), at(tau), at(work), C.int(len(work))))
		},
		geqrfWork: func(m, n int) int {
			best := make([]T, 1)
			C.peer_geqrf(size, C.int(m), C.int(n), at(best), at(best), at(best), -1)
			return int(best[0])
		},
		gesv: func(n, nrhs int, a []T, ipiv []int32, b []T) int {
			return int(C.peer_gesv(size, C.int(n), C.int(nrhs), at(a), ints(ipiv), at(b)))
		},
		posv: func(uplo byte, n, nrhs int, a, b []T) int {
			return int(C.peer_posv(size, C.char(uplo), C.int(n), C.int(nrhs), at(a), at(b)))
		},
		gels: func(m, n, nrhs int, a, b, work []T) int {
			return int(C.peer_gels(size, C.int(m), C.int(n), C.int(nrhs), at(a), at(b), at(work), C.int(len(work))))
		},
		gelsWork: func(m, n, nrhs int) int {
			best := make([]T, 1)
			C.peer_gels(size, C.int(m), C.int(n), C.int(nrhs), at(best), at(best), at(best), -1)
			return int(best[0])
		},
	}, true
}

// ints returns C's view of a slice.
func ints(x []int32) *C.int { return (*C.int)(unsafe.Pointer(unsafe.SliceData(x))) }
