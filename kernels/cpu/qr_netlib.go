//go:build cgo && (openblas || mkl)

package cpu

/*
#include <stddef.h>

// The LAPACK routines themselves, column-major, with Fortran's hidden lengths
// of the strings at the end. A leading dimension of T is the block's size.
extern void sgelqt_(const int *m, const int *n, const int *mb, float *a, const int *lda, float *t, const int *ldt, float *work, int *info);
extern void sgemlqt_(const char *side, const char *trans, const int *m, const int *n, const int *k, const int *mb, const float *v, const int *ldv, const float *t, const int *ldt, float *c, const int *ldc, float *work, int *info, size_t len1, size_t len2);
extern void stplqt_(const int *m, const int *n, const int *l, const int *mb, float *a, const int *lda, float *b, const int *ldb, float *t, const int *ldt, float *work, int *info);
extern void stpmlqt_(const char *side, const char *trans, const int *m, const int *n, const int *k, const int *l, const int *mb, const float *v, const int *ldv, const float *t, const int *ldt, float *a, const int *lda, float *b, const int *ldb, float *work, int *info, size_t len1, size_t len2);

static int tessera_sgelqt(int m, int n, int mb, float *a, int lda, float *t, float *work) {
	int info = 0;
	sgelqt_(&m, &n, &mb, a, &lda, t, &mb, work, &info);
	return info;
}

static int tessera_sgemlqt(char side, char trans, int m, int n, int k, int mb, const float *v, int ldv, const float *t, float *c, int ldc, float *work) {
	int info = 0;
	sgemlqt_(&side, &trans, &m, &n, &k, &mb, v, &ldv, t, &mb, c, &ldc, work, &info, 1, 1);
	return info;
}

static int tessera_stplqt(int m, int n, int l, int mb, float *a, int lda, float *b, int ldb, float *t, float *work) {
	int info = 0;
	stplqt_(&m, &n, &l, &mb, a, &lda, b, &ldb, t, &mb, work, &info);
	return info;
}

static int tessera_stpmlqt(char side, char trans, int m, int n, int k, int l, int mb, const float *v, int ldv, const float *t, float *a, int lda, float *b, int ldb, float *work) {
	int info = 0;
	stpmlqt_(&side, &trans, &m, &n, &k, &l, &mb, v, &ldv, t, &mb, a, &lda, b, &ldb, work, &info, 1, 1);
	return info;
}

extern void dgelqt_(const int *m, const int *n, const int *mb, double *a, const int *lda, double *t, const int *ldt, double *work, int *info);
extern void dgemlqt_(const char *side, const char *trans, const int *m, const int *n, const int *k, const int *mb, const double *v, const int *ldv, const double *t, const int *ldt, double *c, const int *ldc, double *work, int *info, size_t len1, size_t len2);
extern void dtplqt_(const int *m, const int *n, const int *l, const int *mb, double *a, const int *lda, double *b, const int *ldb, double *t, const int *ldt, double *work, int *info);
extern void dtpmlqt_(const char *side, const char *trans, const int *m, const int *n, const int *k, const int *l, const int *mb, const double *v, const int *ldv, const double *t, const int *ldt, double *a, const int *lda, double *b, const int *ldb, double *work, int *info, size_t len1, size_t len2);

static int tessera_dgelqt(int m, int n, int mb, double *a, int lda, double *t, double *work) {
	int info = 0;
	dgelqt_(&m, &n, &mb, a, &lda, t, &mb, work, &info);
	return info;
}

static int tessera_dgemlqt(char side, char trans, int m, int n, int k, int mb, const double *v, int ldv, const double *t, double *c, int ldc, double *work) {
	int info = 0;
	dgemlqt_(&side, &trans, &m, &n, &k, &mb, v, &ldv, t, &mb, c, &ldc, work, &info, 1, 1);
	return info;
}

static int tessera_dtplqt(int m, int n, int l, int mb, double *a, int lda, double *b, int ldb, double *t, double *work) {
	int info = 0;
	dtplqt_(&m, &n, &l, &mb, a, &lda, b, &ldb, t, &mb, work, &info);
	return info;
}

static int tessera_dtpmlqt(char side, char trans, int m, int n, int k, int l, int mb, const double *v, int ldv, const double *t, double *a, int lda, double *b, int ldb, double *work) {
	int info = 0;
	dtpmlqt_(&side, &trans, &m, &n, &k, &l, &mb, v, &ldv, t, &mb, a, &lda, b, &ldb, work, &info, 1, 1);
	return info;
}
*/
import "C"

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"
)

// BLASQR returns the QR routines of the C library that this build is linked
// with; ok is false if there is none.
//
// A row-major QR is a column-major LQ of the transpose, of which the factor is
// the transpose of ours: gelqt, gemlqt, tplqt and tpmlqt do it in place. Only
// T has to be transposed, for LAPACK does not.
func BLASQR[T Element]() (q QRRoutines[T], ok bool) {
	prepareBLAS()
	var zero T
	var impl any = netlibQR64{}
	if unsafe.Sizeof(zero) == 4 {
		impl = netlibQR32{}
	}
	return impl.(QRRoutines[T]), true
}

type (
	netlibQR32 struct{}
	netlibQR64 struct{}
)

// netlibQRWork is room for T, a triangular V, and LAPACK's own scratch.
func netlibQRWork(dim, k, ib int) int {
	ib = min(ib, k)
	if ib <= 0 {
		return 0
	}
	return ib*k + k*k + ib*dim
}

// Work implements [QRRoutines].
func (netlibQR32) Work(dim, k, ib int) int { return netlibQRWork(dim, k, ib) }

// Work implements [QRRoutines].
func (netlibQR64) Work(dim, k, ib int) int { return netlibQRWork(dim, k, ib) }

// cutQRWork returns the parts of the scratch of a call with k reflectors.
func cutQRWork[T Element](work []T, dim, k, ib int) (t, rest []T) {
	if len(work) < netlibQRWork(dim, k, ib) {
		panic(ErrWork)
	}
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
func (netlibQR32) Geqrt(m, n, ib int, a []float32, lda int, t []float32, ldt int, work []float32) {
	if geqrtTrivial(m, n, ib, a, lda, t, ldt) {
		return
	}
	k := min(m, n)
	ib = min(ib, k)
	tt, work := cutQRWork(work, max(m, n), k, ib)
	C.tessera_sgelqt(C.int(n), C.int(m), C.int(ib), (*C.float)(&a[0]), C.int(lda), (*C.float)(&tt[0]), (*C.float)(&work[0]))
	untransposeT(t, ldt, k, ib, tt)
}

// Gemqrt implements [QRRoutines].
func (netlibQR32) Gemqrt(side blas.Side, trans blas.Transpose, m, n, k, ib int, v []float32, ldv int, t []float32, ldt int, c []float32, ldc int, work []float32) {
	left, transposed := checkApply(side, trans, ib)
	if gemqrtTrivial(left, m, n, k, ib, v, ldv, t, ldt, c, ldc) {
		return
	}
	ib = min(ib, k)
	tt, work := cutQRWork(work, max(m, n), k, ib)
	transposeT(tt, k, ib, t, ldt)
	C.tessera_sgemlqt(columnMajorSide(left), lapackTrans(transposed), C.int(n), C.int(m), C.int(k), C.int(ib), (*C.float)(&v[0]), C.int(ldv), (*C.float)(&tt[0]), (*C.float)(&c[0]), C.int(ldc), (*C.float)(&work[0]))
}

// Tpqrt implements [QRRoutines].
func (netlibQR32) Tpqrt(m, n, l, ib int, a []float32, lda int, b []float32, ldb int, t []float32, ldt int, work []float32) {
	if tpqrtTrivial(m, n, l, ib, a, lda, b, ldb, t, ldt) {
		return
	}
	ib = min(ib, n)
	if m == 0 {
		clearT(n, ib, t, ldt)
		return
	}
	tt, work := cutQRWork(work, max(m, n), n, ib)
	C.tessera_stplqt(C.int(n), C.int(m), C.int(l), C.int(ib), (*C.float)(&a[0]), C.int(lda), (*C.float)(&b[0]), C.int(ldb), (*C.float)(&tt[0]), (*C.float)(&work[0]))
	untransposeT(t, ldt, n, ib, tt)
}

// Tpmqrt implements [QRRoutines].
func (netlibQR32) Tpmqrt(side blas.Side, trans blas.Transpose, m, n, k, l, ib int, v []float32, ldv int, t []float32, ldt int, a []float32, lda int, b []float32, ldb int, work []float32) {
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
	C.tessera_stpmlqt(columnMajorSide(left), lapackTrans(transposed), C.int(n), C.int(m), C.int(k), C.int(l), C.int(ib), (*C.float)(&v[0]), C.int(ldv), (*C.float)(&tt[0]), (*C.float)(&a[0]), C.int(lda), (*C.float)(&b[0]), C.int(ldb), (*C.float)(&work[0]))
}

// Geqrt implements [QRRoutines].
func (netlibQR64) Geqrt(m, n, ib int, a []float64, lda int, t []float64, ldt int, work []float64) {
	if geqrtTrivial(m, n, ib, a, lda, t, ldt) {
		return
	}
	k := min(m, n)
	ib = min(ib, k)
	tt, work := cutQRWork(work, max(m, n), k, ib)
	C.tessera_dgelqt(C.int(n), C.int(m), C.int(ib), (*C.double)(&a[0]), C.int(lda), (*C.double)(&tt[0]), (*C.double)(&work[0]))
	untransposeT(t, ldt, k, ib, tt)
}

// Gemqrt implements [QRRoutines].
func (netlibQR64) Gemqrt(side blas.Side, trans blas.Transpose, m, n, k, ib int, v []float64, ldv int, t []float64, ldt int, c []float64, ldc int, work []float64) {
	left, transposed := checkApply(side, trans, ib)
	if gemqrtTrivial(left, m, n, k, ib, v, ldv, t, ldt, c, ldc) {
		return
	}
	ib = min(ib, k)
	tt, work := cutQRWork(work, max(m, n), k, ib)
	transposeT(tt, k, ib, t, ldt)
	C.tessera_dgemlqt(columnMajorSide(left), lapackTrans(transposed), C.int(n), C.int(m), C.int(k), C.int(ib), (*C.double)(&v[0]), C.int(ldv), (*C.double)(&tt[0]), (*C.double)(&c[0]), C.int(ldc), (*C.double)(&work[0]))
}

// Tpqrt implements [QRRoutines].
func (netlibQR64) Tpqrt(m, n, l, ib int, a []float64, lda int, b []float64, ldb int, t []float64, ldt int, work []float64) {
	if tpqrtTrivial(m, n, l, ib, a, lda, b, ldb, t, ldt) {
		return
	}
	ib = min(ib, n)
	if m == 0 {
		clearT(n, ib, t, ldt)
		return
	}
	tt, work := cutQRWork(work, max(m, n), n, ib)
	C.tessera_dtplqt(C.int(n), C.int(m), C.int(l), C.int(ib), (*C.double)(&a[0]), C.int(lda), (*C.double)(&b[0]), C.int(ldb), (*C.double)(&tt[0]), (*C.double)(&work[0]))
	untransposeT(t, ldt, n, ib, tt)
}

// Tpmqrt implements [QRRoutines].
func (netlibQR64) Tpmqrt(side blas.Side, trans blas.Transpose, m, n, k, l, ib int, v []float64, ldv int, t []float64, ldt int, a []float64, lda int, b []float64, ldb int, work []float64) {
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
	C.tessera_dtpmlqt(columnMajorSide(left), lapackTrans(transposed), C.int(n), C.int(m), C.int(k), C.int(l), C.int(ib), (*C.double)(&v[0]), C.int(ldv), (*C.double)(&tt[0]), (*C.double)(&a[0]), C.int(lda), (*C.double)(&b[0]), C.int(ldb), (*C.double)(&work[0]))
}
