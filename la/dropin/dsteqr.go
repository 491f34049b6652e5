package dropin

import (
	"slices"

	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Dsteqr computes the eigenvalues d, in ascending order, and eigenvectors of the symmetric tridiagonal n×n matrix with
// the diagonal d and e beside it, by divide and conquer. If compz is lapack.EVTridiag z becomes the matrix of the
// vectors, its columns; if it is lapack.EVOrig, z is multiplied by that from the right. gonum's does the others,
// without vectors. e is overwritten. It reports whether all eigenvalues were found.
//
// It needs up to three times as much memory as z. work has at least 2·n−2 elements. It panics as gonum's does.
//
// Reference: LAPACK xSTEQR, xSTEDC.
func (l LAPACK) Dsteqr(compz lapack.EVComp, n int, d, e, z []float64, ldz int, work []float64) (ok bool) {
	co := l.blas.core
	if co.smallCube(smallCondensed, n, n, n) || compz != lapack.EVOrig && compz != lapack.EVTridiag || n < 2 || !fits(n, n, z, ldz) ||
		len(d) < n || len(e) < n-1 || len(work) < 2*n-2 || !finite(1, n, d, n) || !finite(1, n-1, e, n) {
		return l.Implementation.Dsteqr(compz, n, d, e, z, ldz, work)
	}
	q, values := newGeneral(n, n), slices.Clone(d[:n])
	err := tridiag.Stedc(values, slices.Clone(e[:n-1]), matrixOf(q), make([]float64, tridiag.WorkStedc(n)),
		op.Conquering(co.host64()), tridiag.Crew[float64](newTeam(co)), nil)
	if err != nil { // gonum's says how far it has come
		return l.Implementation.Dsteqr(compz, n, d, e, z, ldz, work)
	}
	copy(d, values)
	clear(e[:n-1])
	if compz == lapack.EVTridiag {
		transposeTo(co, square(n, z, ldz), q)
		return true
	}
	product := newGeneral(n, n)
	l.blas.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, z, ldz, q.Data, n, 0, product.Data, n)
	for i := range n {
		copy(z[i*ldz:][:n], product.Data[i*n:])
	}
	return true
}
