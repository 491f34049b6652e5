package dropin

import (
	"math"

	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/schur"
	"gonum.org/v1/gonum/lapack"
)

// Dtrevc3 computes eigenvectors of the n×n quasi-triangular matrix T in Schur canonical form, left ones in vl, right
// ones in vr, as the columns there. If howmny is lapack.EVAllMulQ, vl and vr hold a matrix Q that multiplies them;
// gonum's does the other ones. The real and the imaginary part of the vector of a complex pair are two columns. The
// largest element of each vector, in the sum of the magnitudes of both parts, has size 1. It returns the number of
// columns, n.
//
// It needs as much memory as Q, and for left ones as T too. work and lwork are as gonum's: lwork at least 3·n; with
// lwork = −1 work[0] becomes gonum's best one and nothing is computed. It panics as gonum's does.
//
// Reference: LAPACK xTREVC3.
func (l LAPACK) Dtrevc3(side lapack.EVSide, howmny lapack.EVHowMany, selected []bool, n int, t []float64, ldt int, vl []float64, ldvl int, vr []float64, ldvr int, mm int, work []float64, lwork int) (m int) {
	co := l.blas.core
	left, right := side == lapack.EVLeft || side == lapack.EVBoth, side == lapack.EVRight || side == lapack.EVBoth
	small := co.smallCube(smallCondensed, n, n, n)
	asked := (left || right) && howmny == lapack.EVAllMulQ
	fit := mm >= n && fits(n, n, t, ldt) && ldvl >= 1 && ldvr >= 1 && lwork >= 3*n && len(work) >= lwork &&
		(!left || ldvl >= mm && fits(n, mm, vl, ldvl)) && (!right || ldvr >= mm && fits(n, mm, vr, ldvr))
	if small || !asked || !fit || !finite(n, n, t, ldt) || !quasiTriangular(n, t, ldt) {
		return l.Implementation.Dtrevc3(side, howmny, selected, n, t, ldt, vl, ldvl, vr, ldvr, mm, work, lwork)
	}
	vectors := schur.Vectors[float64]{
		Kernels: cpu.NewHessenberg(co.host64(), newTeam(co)), T: matrixOf(square(n, t, ldt)),
	}
	q, x := newGeneral(n, n), newGeneral(n, n)
	multiply := func(v []float64, ldv int) {
		transposeTo(co, q, square(n, v, ldv))
		vectors.Z = matrixOf(q)
		vectors.To(matrixOf(x))
		normalizeVectors(n, t, ldt, x.Data, vectors.Left)
		transposeTo(co, square(n, v, ldv), x)
	}
	if right {
		multiply(vr, ldvr)
	}
	if left { // which overwrites T
		vectors.Left = true
		vectors.T = matrixOf(newGeneral(n, n))
		for i := range n {
			copy(vectors.T.Row(i), t[i*ldt:])
		}
		multiply(vl, ldvl)
	}
	l.Implementation.Dtrevc3(side, howmny, selected, n, t, ldt, vl, ldvl, vr, ldvr, mm, work, -1) // gonum's best lwork
	return n
}

// quasiTriangular reports whether the blocks on the diagonal of a matrix that is zero below them are of order 1 and 2.
func quasiTriangular(n int, t []float64, ldt int) bool {
	for i := 2; i < n; i++ {
		if t[(i-1)*ldt+i-2] != 0 && t[i*ldt+i-1] != 0 {
			return false
		}
	}
	return true
}

// normalizeVectors makes the largest elements of the eigenvectors of T in the rows of x of size 1. Left ones of complex
// pairs are multiplied by i, as xTREVC3 has them.
func normalizeVectors(n int, t []float64, ldt int, x []float64, left bool) {
	for i := 0; i < n; i++ {
		if i+1 == n || t[(i+1)*ldt+i] == 0 {
			unit(x[i*n:][:n], nil)
			continue
		}
		re, im := x[i*n:][:n], x[(i+1)*n:][:n]
		if unit(re, im); left {
			for j := range re {
				re[j], im[j] = -im[j], re[j]
			}
		}
		i++
	}
}

// unit divides a vector by the size of its largest element. im may be nil.
func unit(re, im []float64) {
	most := 0.0
	for j, x := range re {
		size := math.Abs(x)
		if im != nil {
			size += math.Abs(im[j])
		}
		most = max(most, size)
	}
	for j := range re {
		re[j] /= most
	}
	for j := range im {
		im[j] /= most
	}
}
