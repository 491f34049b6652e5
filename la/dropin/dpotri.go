package dropin

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// smallPotri is the cube of the largest order left to gonum by default.
const smallPotri = 64 * 64 * 64

// Dpotri computes the inverse of the symmetric positive definite n×n matrix of
// which [LAPACK.Dpotrf] has left the factor in the uplo triangle of a, in that
// triangle. It returns false, and does nothing, if the factor has a zero on its
// diagonal. A large inverse needs n·n/2 elements of memory. It panics as
// gonum's does.
//
// Reference: LAPACK xPOTRI.
func (l LAPACK) Dpotri(uplo blas.Uplo, n int, a []float64, lda int) (ok bool) {
	co := l.blas.core
	if co.smallCube(smallPotri, n, n, n) || !triangle(uplo) || !fits(n, n, a, lda) {
		return l.Implementation.Dpotri(uplo, n, a, lda)
	}
	if singular(n, a, lda) {
		return false
	}
	nb, _ := tileSize[float64](co, engine.OpCholesky, n, n, n, n)
	v := viewSym(uplo, n, a, lda, nb)
	w := blocked.New[float64](blocked.TriLower, n, n, nb)
	run(co, "Dpotri", func(p *blocked.Program[float64]) error { return chol.Potri(p, v, w, v) })
	return true
}
