package dropin

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/la/engine"
)

// smallGetri is the cube of the largest order left to gonum by default.
const smallGetri = 64 * 64 * 64

// Dgetri computes the inverse of the n×n matrix of which [LAPACK.Dgetrf] has
// left the factorization in a and ipiv, in a. It returns false, and does
// nothing, if the matrix is singular. A large inverse needs n×n elements of
// memory beside work. It panics as gonum's does.
//
// Reference: LAPACK xGETRI.
func (l LAPACK) Dgetri(n int, a []float64, lda int, ipiv []int, work []float64, lwork int) (ok bool) {
	co := l.blas.core
	if co.smallCube(smallGetri, n, n, n) || !fits(n, n, a, lda) || len(ipiv) != n || lwork < n || len(work) < lwork {
		return l.Implementation.Dgetri(n, a, lda, ipiv, work, lwork)
	}
	if singular(n, a, lda) {
		return false
	}
	nb, _ := tileSize[float64](co, engine.OpTrsm, n, n, n, n)
	nb = min(nb, n)
	w := blocked.New[float64](blocked.Full, n, n, nb)
	va, v := view(n, n, a, lda, nb), lu.NewPivots(n, n, nb)
	v.SetSwaps(ipiv, 0)
	run(co, "Dgetri", func(p *blocked.Program[float64]) error { return lu.Getri(p, va, v, w) })
	w.CopyTo(blocked.General[float64]{Rows: n, Cols: n, Data: a, Stride: lda}, co.workers())
	l.Implementation.Dgetri(n, a, lda, ipiv, work, -1) // sets work[0]
	return true
}
