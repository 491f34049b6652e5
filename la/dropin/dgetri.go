package dropin

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
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
	if co.small(smallGetri, n, n, n) || !fits(n, n, a, lda) || len(ipiv) != n || lwork < n || len(work) < lwork {
		return l.Implementation.Dgetri(n, a, lda, ipiv, work, lwork)
	}
	for i := range n {
		if a[i*lda+i] == 0 {
			return false
		}
	}
	nb, _ := tileSize[float64](co, la.OpTrsm, n, n, n, n)
	if nb > n {
		nb = n
	}
	w := blocked.New[float64](blocked.Full, n, n, nb)
	for i := range n {
		w.Set(i, i, 1)
	}
	va := view(n, n, a, lda, nb)
	run(co, "Dgetri", func(p *blocked.Program[float64]) error { return p.Getri(va, w) })
	// A⁻¹ = W·Pᵀ: the interchanges of columns, the last one first.
	from := make([]int, n)
	for j := range from {
		from[j] = j
	}
	for j := n - 1; j >= 0; j-- {
		from[j], from[ipiv[j]] = from[ipiv[j]], from[j]
	}
	parallel(co, n, max(1, 1<<16/n), func(lo, hi int) {
		row := make([]float64, n)
		for i := lo; i < hi; i++ {
			for j := 0; j < n; j += nb {
				copy(row[j:], w.Tile(i/nb, j/nb).Row(i%nb))
			}
			for j, k := range from {
				a[i*lda+j] = row[k]
			}
		}
	})
	work[0] = float64(n)
	return true
}
