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
		T *, const int *, int *, size_t); \
	static void peer_##p##gemm(int n, const T *a, const T *b, T *c) { \
		const T one = 1, zero = 0; \
		p##gemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1); \
	} \
	static int peer_##p##potrf(char uplo, int n, T *a) { \
		int info = 0; \
		p##potrf_(&uplo, &n, a, &n, &info, 1); \
		return info; \
	} \
	static int peer_##p##getrf(int m, int n, T *a, int *ipiv) { \
		int info = 0; \
		p##getrf_(&m, &n, a, &m, ipiv, &info); \
		return info; \
	} \
	static int peer_##p##geqrf(int m, int n, T *a, T *tau, T *work, int lwork) { \
		int info = 0; \
		p##geqrf_(&m, &n, a, &m, tau, work, &lwork, &info); \
		return info; \
	} \
	static int peer_##p##gesv(int n, int nrhs, T *a, int *ipiv, T *b) { \
		int info = 0; \
		p##gesv_(&n, &nrhs, a, &n, ipiv, b, &n, &info); \
		return info; \
	} \
	static int peer_##p##posv(char uplo, int n, int nrhs, T *a, T *b) { \
		int info = 0; \
		p##posv_(&uplo, &n, &nrhs, a, &n, b, &n, &info, 1); \
		return info; \
	} \
	static int peer_##p##gels(int m, int n, int nrhs, T *a, T *b, T *work, int lwork) { \
		int info = 0; \
		p##gels_("N", &m, &n, &nrhs, a, &m, b, &m, work, &lwork, &info, 1); \
		return info; \
	}

ROUTINES(s, float)
ROUTINES(d, double)
*/
import "C"

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// linked returns the library of this build; ok is false if there is none.
func linked[T matgen.Element]() (l library[T], ok bool) {
	if _, single := any(&l).(*library[float32]); single {
		return any(single32()).(library[T]), true
	}
	return any(double64()).(library[T]), true
}

func setThreads(n int) { cpu.SetBLASThreads(n) }

// ints returns C's view of a slice.
func ints(x []int32) *C.int { return (*C.int)(unsafe.Pointer(unsafe.SliceData(x))) }

func single32() library[float32] {
	at := func(x []float32) *C.float { return (*C.float)(unsafe.SliceData(x)) }
	return library[float32]{
		threads: setThreads,
		gemm:    func(n int, a, b, c []float32) { C.peer_sgemm(C.int(n), at(a), at(b), at(c)) },
		potrf: func(uplo byte, n int, a []float32) int {
			return int(C.peer_spotrf(C.char(uplo), C.int(n), at(a)))
		},
		getrf: func(m, n int, a []float32, ipiv []int32) int {
			return int(C.peer_sgetrf(C.int(m), C.int(n), at(a), ints(ipiv)))
		},
		geqrf: func(m, n int, a, tau, work []float32) int {
			return int(C.peer_sgeqrf(C.int(m), C.int(n), at(a), at(tau), at(work), C.int(len(work))))
		},
		geqrfWork: func(m, n int) int {
			var best, none C.float
			C.peer_sgeqrf(C.int(m), C.int(n), &none, &none, &best, -1)
			return int(best)
		},
		gesv: func(n, nrhs int, a []float32, ipiv []int32, b []float32) int {
			return int(C.peer_sgesv(C.int(n), C.int(nrhs), at(a), ints(ipiv), at(b)))
		},
		posv: func(uplo byte, n, nrhs int, a, b []float32) int {
			return int(C.peer_sposv(C.char(uplo), C.int(n), C.int(nrhs), at(a), at(b)))
		},
		gels: func(m, n, nrhs int, a, b, work []float32) int {
			return int(C.peer_sgels(C.int(m), C.int(n), C.int(nrhs), at(a), at(b), at(work), C.int(len(work))))
		},
		gelsWork: func(m, n, nrhs int) int {
			var best, none C.float
			C.peer_sgels(C.int(m), C.int(n), C.int(nrhs), &none, &none, &best, -1)
			return int(best)
		},
	}
}

func double64() library[float64] {
	at := func(x []float64) *C.double { return (*C.double)(unsafe.SliceData(x)) }
	return library[float64]{
		threads: setThreads,
		gemm:    func(n int, a, b, c []float64) { C.peer_dgemm(C.int(n), at(a), at(b), at(c)) },
		potrf: func(uplo byte, n int, a []float64) int {
			return int(C.peer_dpotrf(C.char(uplo), C.int(n), at(a)))
		},
		getrf: func(m, n int, a []float64, ipiv []int32) int {
			return int(C.peer_dgetrf(C.int(m), C.int(n), at(a), ints(ipiv)))
		},
		geqrf: func(m, n int, a, tau, work []float64) int {
			return int(C.peer_dgeqrf(C.int(m), C.int(n), at(a), at(tau), at(work), C.int(len(work))))
		},
		geqrfWork: func(m, n int) int {
			var best, none C.double
			C.peer_dgeqrf(C.int(m), C.int(n), &none, &none, &best, -1)
			return int(best)
		},
		gesv: func(n, nrhs int, a []float64, ipiv []int32, b []float64) int {
			return int(C.peer_dgesv(C.int(n), C.int(nrhs), at(a), ints(ipiv), at(b)))
		},
		posv: func(uplo byte, n, nrhs int, a, b []float64) int {
			return int(C.peer_dposv(C.char(uplo), C.int(n), C.int(nrhs), at(a), at(b)))
		},
		gels: func(m, n, nrhs int, a, b, work []float64) int {
			return int(C.peer_dgels(C.int(m), C.int(n), C.int(nrhs), at(a), at(b), at(work), C.int(len(work))))
		},
		gelsWork: func(m, n, nrhs int) int {
			var best, none C.double
			C.peer_dgels(C.int(m), C.int(n), C.int(nrhs), &none, &none, &best, -1)
			return int(best)
		},
	}
}
