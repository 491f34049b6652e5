package dropin

import (
	"errors"
	"math"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// smallGeev is the cube of the largest order left to gonum by default. Below it the signs of vectors, which are not
// defined, are those of gonum, by which programs may have come to go.
const smallGeev = 32 * 32 * 32

// Dgeev computes the eigenvalues of the n×n matrix A, which is overwritten at will, and as jobvl and jobvr say its left
// eigenvectors as the columns of vl and right ones as those of vr. The two eigenvalues of a complex pair follow each
// other, that with the positive imaginary part first, and their columns have the real and the imaginary part of its
// vector. Vectors have norm 1, and the largest element of a complex one is real.
//
// It returns 0, or the index of the first eigenvalue that was found, as gonum's does; n if an element is NaN or infinite,
// which it finds out at once: wr and wi are then NaN.
//
// work and lwork are as gonum's. It panics as gonum's does.
//
// Reference: LAPACK xGEEV.
func (l LAPACK) Dgeev(jobvl lapack.LeftEVJob, jobvr lapack.RightEVJob, n int, a []float64, lda int, wr, wi []float64, vl []float64, ldvl int, vr []float64, ldvr int, work []float64, lwork int) (first int) {
	co := l.blas.core
	left, right := jobvl == lapack.LeftEVCompute, jobvr == lapack.RightEVCompute
	least := 3 * n
	if left || right {
		least = 4 * n
	}
	if co.smallCube(smallGeev, n, n, n) || n < 2 || !left && jobvl != lapack.LeftEVNone || !right && jobvr != lapack.RightEVNone ||
		!fits(n, n, a, lda) || lwork < least || len(work) < lwork || len(wr) != n || len(wi) != n ||
		left && !fits(n, n, vl, ldvl) || right && !fits(n, n, vr, ldvr) || ldvl < 1 || ldvr < 1 {
		return l.Implementation.Dgeev(jobvl, jobvr, n, a, lda, wr, wi, vl, ldvl, vr, ldvr, work, lwork)
	}
	kind := mat.EigenNone
	general := func(x []float64, ld int) la.General[float64] {
		return la.General[float64]{Rows: n, Cols: n, Stride: ld, Data: x[:(n-1)*ld+n]}
	}
	var u, v la.Sink[float64]
	if left {
		kind |= mat.EigenLeft
		u = general(vl, ldvl)
	}
	if right {
		kind |= mat.EigenRight
		v = general(vr, ldvr)
	}
	e := co.enter()
	defer co.leave()
	c := la.NewEigen[float64](e)
	err := c.Factorize(general(a, lda), kind)
	if _, ok := errors.AsType[*la.NonFiniteError](err); ok {
		for i := range wr {
			wr[i], wi[i] = math.NaN(), math.NaN()
		}
		return n
	}
	if _, ok := errors.AsType[*la.ConvergenceError](err); ok { // gonum's knows which eigenvalues it has found
		return l.Implementation.Dgeev(jobvl, jobvr, n, a, lda, wr, wi, vl, ldvl, vr, ldvr, work, lwork)
	}
	check("Dgeev", err)
	c.RealTo(wr, wi, u, v)
	l.Implementation.Dgeev(jobvl, jobvr, n, a, lda, wr, wi, vl, ldvl, vr, ldvr, work, -1) // gonum's best lwork
	return 0
}
