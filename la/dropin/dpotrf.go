package dropin

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// smallPotrf is the cube of the largest order left to gonum by default.
const smallPotrf = 24 * 24 * 24

// Dpotrf computes the Cholesky factorization of the symmetric positive definite
// n×n matrix A in place,
//
//	A = Uᵀ·U (uplo = Upper) or A = L·Lᵀ (uplo = Lower),
//
// in its uplo triangle; the other one is neither read nor written. It returns
// whether A is positive definite; if not, the triangle holds an unfinished
// factorization. It panics as gonum's does.
//
// Reference: LAPACK xPOTRF.
func (l LAPACK) Dpotrf(uplo blas.Uplo, n int, a []float64, lda int) (ok bool) {
	co := l.blas.core
	if co.smallCube(smallPotrf, n, n, n) || !triangle(uplo) || !fits(n, n, a, lda) {
		return l.Implementation.Dpotrf(uplo, n, a, lda)
	}
	nb, whole := tileSize[float64](co, engine.OpCholesky, n, n, n, n)
	if whole {
		d := one[float64]()
		d.potrf = op.Potrf{Uplo: uplo}
		d.set(0, n, n, a, lda)
		return d.run(co, "Dpotrf", ops[float64](co).Op("potrf"), &d.potrf, 1) == nil
	}
	v := viewSym(uplo, n, a, lda, nb)
	return run(co, "Dpotrf", func(p *blocked.Program[float64]) error { return chol.Potrf(p, v) }) == nil
}
