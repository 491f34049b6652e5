package dropin

import (
	"errors"

	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Dsyev computes the eigenvalues of the symmetric n×n matrix A, of which only the uplo triangle is read,
// in ascending order in w, and if jobz is lapack.EVCompute the eigenvectors as the columns of a; if it is
// lapack.EVNone the triangle is overwritten at will. It reports whether all were found: not if
// an element that is read is NaN or infinite, which it finds out at once.
//
// Up to order op.SyevOrder the signs of vectors are gonum's for an upper triangle, but where rounding decides between equals.
//
// work and lwork are as gonum's: lwork at least 3·n−1; with lwork = −1 work[0] becomes gonum's best one and
// nothing is computed. It panics as gonum's does.
//
// Reference: LAPACK xSYEV, xSYEVD.
func (l LAPACK) Dsyev(jobz lapack.EVJob, uplo blas.Uplo, n int, a []float64, lda int, w, work []float64, lwork int) (ok bool) {
	co := l.blas.core
	if co.smallCube(1, n, n, n) || jobz != lapack.EVNone && jobz != lapack.EVCompute || !triangle(uplo) ||
		!fits(n, n, a, lda) || lwork < 3*n-1 || len(work) < lwork || len(w) < n {
		return l.Implementation.Dsyev(jobz, uplo, n, a, lda, w, work, lwork)
	}
	vectors := jobz == lapack.EVCompute
	if n <= op.SyevOrder {
		s := smallSpectrals.Get().(*smallSpectral)
		defer smallSpectrals.Put(s)
		if ok, done := s.syev(vectors, uplo, n, a, lda, w[:n]); done {
			work[0] = float64(34 * n)
			return ok
		}
	}
	e := co.enter()
	defer co.leave()
	pool := &co.kept().eigenSyms
	c := borrowed(pool, la.NewEigenSym[float64], e)
	defer pool.Put(c)
	err := c.Factorize(la.Symmetric[float64]{Uplo: uplo, N: n, Stride: lda, Data: a[:(n-1)*lda+n]}, vectors)
	_, nonFinite := errors.AsType[*la.NonFiniteError](err)
	_, unfinished := errors.AsType[*la.ConvergenceError](err)
	if nonFinite || unfinished {
		return false
	}
	check("Dsyev", err)
	c.Values(w[:n])
	if vectors {
		c.VectorsTo(la.General[float64]{Rows: n, Cols: n, Stride: lda, Data: a[:(n-1)*lda+n]})
	}
	work[0] = float64(34 * n) // gonum's best one
	return true
}
