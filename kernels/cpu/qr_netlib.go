//go:build cgo && (openblas || mkl)

package cpu

/*
#include <stddef.h>

// The LAPACK routines themselves, column-major, with Fortran's hidden lengths
// of the strings at the end. A leading dimension of T is the block's size.
// The first argument of what is called here is the size of an element.

#define ROUTINES(p, E) \
	extern void p##gelqt_(const int *m, const int *n, const int *mb, E *a, const int *lda, E *t, const int *ldt, \
		E *work, int *info); \
	extern void p##gemlqt_(const char *side, const char *trans, const int *m, const int *n, const int *k, const int *mb, \
		const E *v, const int *ldv, const E *t, const int *ldt, E *c, const int *ldc, E *work, int *info, size_t, size_t); \
	extern void p##tplqt_(const int *m, const int *n, const int *l, const int *mb, E *a, const int *lda, \
		E *b, const int *ldb, E *t, const int *ldt, E *work, int *info); \
	extern void p##tpmlqt_(const char *side, const char *trans, const int *m, const int *n, const int *k, const int *l, \
		const int *mb, const E *v, const int *ldv, const E *t, const int *ldt, E *a, const int *lda, E *b, const int *ldb, \
		E *work, int *info, size_t, size_t);

ROUTINES(s, float)
ROUTINES(d, double)

#define CALL(size, name, ...) ((size) == 4 ? s##name(__VA_ARGS__) : d##name(__VA_ARGS__))

static void tessera_gelqt(int size, int m, int n, int mb, void *a, int lda, void *t, void *work) {
	int info = 0;
	CALL(size, gelqt_, &m, &n, &mb, a, &lda, t, &mb, work, &info);
}

static void tessera_gemlqt(int size, char side, char trans, int m, int n, int k, int mb, void *v, int ldv, void *t, void *c, int ldc, void *work) {
	int info = 0;
	CALL(size, gemlqt_, &side, &trans, &m, &n, &k, &mb, v, &ldv, t, &mb, c, &ldc, work, &info, 1, 1);
}

static void tessera_tplqt(int size, int m, int n, int l, int mb, void *a, int lda, void *b, int ldb, void *t, void *work) {
	int info = 0;
	CALL(size, tplqt_, &m, &n, &l, &mb, a, &lda, b, &ldb, t, &mb, work, &info);
}

static void tessera_tpmlqt(int size, char side, char trans, int m, int n, int k, int l, int mb, void *v, int ldv, void *t, void *a, int lda, void *b, int ldb, void *work) {
	int info = 0;
	CALL(size, tpmlqt_, &side, &trans, &m, &n, &k, &l, &mb, v, &ldv, t, &mb, a, &lda, b, &ldb, work, &info, 1, 1);
}
*/
import "C"

import "gonum.org/v1/gonum/blas"

// BLASQR returns the QR routines of the C library that this build is linked
// with; ok is false if there is none.
//
// A row-major QR is a column-major LQ of the transpose, of which the factor is
// the transpose of ours: gelqt, gemlqt, tplqt and tpmlqt do it in place. Only
// T has to be transposed, for LAPACK does not.
func BLASQR[T Element]() (q QRRoutines[T], ok bool) {
	prepareBLAS()
	return netlibQR[T]{}, true
}

// netlibQR hands the calls to LAPACK.
type netlibQR[T Element] struct{}

// netlibQRWork is room for T, a triangular V, and LAPACK's own scratch.
func netlibQRWork(dim, k, ib int) int {
	ib = min(ib, k)
	if ib <= 0 {
		return 0
	}
	return ib*k + k*k + ib*dim
}

// Work implements [QRRoutines].
func (netlibQR[T]) Work(dim, k, ib int) int { return netlibQRWork(dim, k, ib) }

// cutQRWork returns the parts of the scratch of a call with k reflectors.
func cutQRWork[T Element](work []T, dim, k, ib int) (t, rest []T) {
	checkWork(len(work), netlibQRWork(dim, k, ib))
	return work[:min(ib, k)*k], work[min(ib, k)*k:]
}

// transposeT copies the triangles of T for k reflectors in blocks of ib columns
// to rows of them, ib elements to a column.
func transposeT[T Element](dst []T, k, ib int, t []T, ldt int) {
	for j := range k {
		for i := range j%ib + 1 {
			dst[j*ib+i] = t[i*ldt+j]
		}
	}
}

// untransposeT undoes transposeT.
func untransposeT[T Element](t []T, ldt, k, ib int, src []T) {
	for j := range k {
		for i := range j%ib + 1 {
			t[i*ldt+j] = src[j*ib+i]
		}
	}
}

// columnMajorSide returns the side that the transpose of an operand is on, seen
// column-major.
func columnMajorSide(left bool) C.char {
	if left {
		return 'R'
	}
	return 'L'
}

func lapackTrans(transposed bool) C.char {
	if transposed {
		return 'T'
	}
	return 'N'
}

// Geqrt implements [QRRoutines].
func (netlibQR[T]) Geqrt(m, n, ib int, a []T, lda int, t []T, ldt int, work []T) {
	if geqrtTrivial(m, n, ib, a, lda, t, ldt) {
		return
	}
	k := min(m, n)
	ib = min(ib, k)
	tt, work := cutQRWork(work, max(m, n), k, ib)
	C.tessera_gelqt(elementSize[T](), C.int(n), C.int(m), C.int(ib), address(a), C.int(lda), address(tt), address(work))
	untransposeT(t, ldt, k, ib, tt)
}

// Gemqrt implements [QRRoutines].
func (netlibQR[T]) Gemqrt(side blas.Side, trans blas.Transpose, m, n, k, ib int, v []T, ldv int, t []T, ldt int, c []T, ldc int, work []T) {
	left, transposed := checkApply(side, trans, ib)
	if gemqrtTrivial(left, m, n, k, ib, v, ldv, t, ldt, c, ldc) {
		return
	}
	ib = min(ib, k)
	tt, work := cutQRWork(work, max(m, n), k, ib)
	transposeT(tt, k, ib, t, ldt)
	C.tessera_gemlqt(elementSize[T](), columnMajorSide(left), lapackTrans(transposed), C.int(n), C.int(m), C.int(k), C.int(ib), address(v), C.int(ldv), address(tt), address(c), C.int(ldc), address(work))
}

// Tpqrt implements [QRRoutines].
func (netlibQR[T]) Tpqrt(m, n, l, ib int, a []T, lda int, b []T, ldb int, t []T, ldt int, work []T) {
	if tpqrtTrivial(m, n, l, ib, a, lda, b, ldb, t, ldt) {
		return
	}
	ib = min(ib, n)
	if m == 0 {
		clearT(n, ib, t, ldt)
		return
	}
	tt, work := cutQRWork(work, max(m, n), n, ib)
	C.tessera_tplqt(elementSize[T](), C.int(n), C.int(m), C.int(l), C.int(ib), address(a), C.int(lda), address(b), C.int(ldb), address(tt), address(work))
	untransposeT(t, ldt, n, ib, tt)
}

// Tpmqrt implements [QRRoutines].
func (netlibQR[T]) Tpmqrt(side blas.Side, trans blas.Transpose, m, n, k, l, ib int, v []T, ldv int, t []T, ldt int, a []T, lda int, b []T, ldb int, work []T) {
	left, transposed := checkApply(side, trans, ib)
	if tpmqrtTrivial(left, m, n, k, l, ib, v, ldv, t, ldt, a, lda, b, ldb) || m == 0 || n == 0 {
		return // without rows of V, T is zero, or else no factor of ours
	}
	ib = min(ib, k)
	tt, work := cutQRWork(work, max(m, n, k), k, ib)
	transposeT(tt, k, ib, t, ldt)
	if l > 0 {
		// tpmlqt reads the zeros of a triangle.
		rows := m
		if !left {
			rows = n
		}
		squareTrapezoid(rows, k, v, ldv, work)
		v, ldv, work = work, k, work[rows*k:]
	}
	C.tessera_tpmlqt(elementSize[T](), columnMajorSide(left), lapackTrans(transposed), C.int(n), C.int(m), C.int(k), C.int(l), C.int(ib), address(v), C.int(ldv), address(tt), address(a), C.int(lda), address(b), C.int(ldb), address(work))
}
