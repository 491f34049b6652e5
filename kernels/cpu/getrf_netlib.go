//go:build cgo && (openblas || mkl)

package cpu

/*
// The LAPACK routines themselves, column-major.
extern void sgetrf_(const int *m, const int *n, float *a, const int *lda, int *ipiv, int *info);
extern void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);

static int tessera_getrf(int size, int m, int n, void *a, int lda, void *ipiv) {
	int info = 0;
	size == 4 ? sgetrf_(&m, &n, a, &lda, ipiv, &info) : dgetrf_(&m, &n, a, &lda, ipiv, &info);
	return info;
}
*/
import "C"

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/transpose"
)

// BLASLU returns the LU routines on top of [BLAS], with the library's xGETRF for
// [LU.Getrf]; ok is false if there is none.
func BLASLU[T Element](c Caches) (l *LU[T], ok bool) {
	r, _ := BLAS[T]()
	l = NewLU(r, c)
	l.library = netlibGetrf[T]
	return l, true
}

// netlibGetrf factors the m×n matrix A in a column-major copy, as the interchanges
// of rows would be of columns in place. ok is false, and A as it was, where the
// libraries do not what LAPACK does: if A has a NaN or an infinity, OpenBLAS 0.3.21
// takes rows for pivots that are neither NaN nor the largest; if the reciprocal of a
// pivot overflows, it multiplies by that.
func netlibGetrf[T Element](m, n int, a []Block[T], ipiv []int, work []T) (info int, ok bool) {
	x := work[:m*n]
	top := 0
	for _, b := range a {
		transpose.Copy(x[top:], m, b.Data, b.Stride, n, b.Rows)
		top += b.Rows
	}
	if !finite(x) {
		return 0, false
	}
	// LAPACK's pivots take half of the memory of ours, or all of it.
	rows := unsafe.Slice((*C.int)(unsafe.Pointer(unsafe.SliceData(ipiv))), len(ipiv))
	info = int(C.tessera_getrf(elementSize[T](), C.int(m), C.int(n), address(x), C.int(m), unsafe.Pointer(unsafe.SliceData(rows))))
	if !finite(x) {
		return 0, false
	}
	for i := len(rows) - 1; i >= 0; i-- {
		ipiv[i] = int(rows[i]) - 1
	}
	top = 0
	for _, b := range a {
		transpose.Copy(b.Data, b.Stride, x[top:], m, b.Rows, n)
		top += b.Rows
	}
	return info, true
}

// finite reports whether x has neither NaN nor infinities.
func finite[T Element](x []T) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}
