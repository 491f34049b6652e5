package dropin

import (
	"slices"

	"github.com/tessera-la/tessera/kernels/bidiag"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// Dbdsqr computes the singular values d, descending, of the bidiagonal n×n matrix
//
//	B = Q·diag(d)·Pᵀ
//
// with the diagonal d and e above it, or below if uplo is blas.Lower, and multiplies
//
//	VT = Pᵀ·VT (n×ncvt),  U = U·Q (nru×n),  C = Qᵀ·C (n×ncc).
//
// Small singular values have the same relative accuracy as large ones. e is overwritten. It reports whether all values
// were found. work has at least 4·n−4 elements. It needs as much memory again as the three matrices. It panics as
// gonum's does.
//
// Reference: LAPACK xBDSQR.
func (l LAPACK) Dbdsqr(uplo blas.Uplo, n, ncvt, nru, ncc int, d, e, vt []float64, ldvt int, u []float64, ldu int, c []float64, ldc int, work []float64) (ok bool) {
	co := l.blas.core
	absent := func(r, c int, x []float64, ld int) bool { return r == 0 || c == 0 || fits(r, c, x, ld) }
	if co.smallCube(smallCondensed, n, n, max(ncvt, nru, ncc)) || !triangle(uplo) || n < 2 || min(ncvt, nru, ncc) < 0 || len(d) < n || len(e) < n-1 ||
		len(work) < 4*(n-1) || min(ldvt, ldu, ldc) < 1 || ldu < n && nru > 0 || !absent(n, ncvt, vt, ldvt) || !absent(nru, n, u, ldu) ||
		!absent(n, ncc, c, ldc) || !finite(1, n, d, n) || !finite(1, n-1, e, n) {
		return l.Implementation.Dbdsqr(uplo, n, ncvt, nru, ncc, d, e, vt, ldvt, u, ldu, c, ldc, work)
	}
	values, beside := slices.Clone(d[:n]), slices.Clone(e[:n-1])
	// Rows of left are rotated with Uᵀ, and with C beside it.
	left, right := newGeneral(n, nru+ncc), newGeneral(n, ncvt)
	ut := la.General[float64]{Rows: n, Cols: nru, Stride: left.Stride, Data: left.Data}
	whole := la.General[float64]{Rows: nru, Cols: n, Stride: ldu, Data: u}
	if nru > 0 {
		transposeTo(co, ut, whole)
	}
	for i := range n {
		if ncc > 0 {
			copy(left.Data[i*left.Stride+nru:][:ncc], c[i*ldc:])
		}
		if ncvt > 0 {
			copy(right.Data[i*right.Stride:][:ncvt], vt[i*ldvt:])
		}
	}
	rotate := rotations(co)
	if uplo == blas.Lower { // rotated to upper bidiagonal form
		cs := make([]float64, 0, 2*(n-1))
		for i := range beside {
			c, s, r := tridiag.Rotation(values[i], beside[i])
			values[i], beside[i], values[i+1] = r, s*values[i+1], c*values[i+1]
			cs = append(cs, c, s)
		}
		rotate.Apply(matrixOf(left), 0, 1, cs)
	}
	if bidiag.Bdsqr(values, beside, matrixOf(left), matrixOf(right), rotate) != nil { // gonum's says how far it has come
		return l.Implementation.Dbdsqr(uplo, n, ncvt, nru, ncc, d, e, vt, ldvt, u, ldu, c, ldc, work)
	}
	copy(d, values)
	clear(e[:n-1])
	if nru > 0 {
		transposeTo(co, whole, ut)
	}
	for i := range n {
		if ncc > 0 {
			copy(c[i*ldc:][:ncc], left.Data[i*left.Stride+nru:])
		}
		if ncvt > 0 {
			copy(vt[i*ldvt:][:ncvt], right.Data[i*right.Stride:])
		}
	}
	return true
}
