package dropin

import (
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/schur"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/lapack"
)

// Dhseqr computes the eigenvalues of the n×n upper Hessenberg matrix H, whose rows and columns outside of ilo to ihi
// are upper triangular, in wr and wi, and if job is lapack.EigenvaluesAndSchur the Schur form
//
//	H = Z·T·Zᵀ,
//
// in h; else h is overwritten at will. Z overwrites z if compz is lapack.SchurHess; if it is lapack.SchurOrig, rows ilo
// to ihi of z are multiplied by it from the right. It returns 0, or k if the iteration does not converge: eigenvalues
// before ilo and from k on have been found then.
//
// It needs as much memory as z. work and lwork are as gonum's: lwork at least n; with lwork = −1 work[0] becomes
// gonum's best one and nothing is computed. It panics as gonum's does.
//
// Reference: LAPACK xHSEQR.
func (l LAPACK) Dhseqr(job lapack.SchurJob, compz lapack.SchurComp, n, ilo, ihi int, h []float64, ldh int, wr, wi []float64, z []float64, ldz int, work []float64, lwork int) (unconverged int) {
	co := l.blas.core
	vectors := compz == lapack.SchurHess || compz == lapack.SchurOrig
	if co.smallCube(smallCondensed, n, n, n) || job != lapack.EigenvaluesOnly && job != lapack.EigenvaluesAndSchur ||
		!vectors && compz != lapack.SchurNone || ilo < 0 || ilo >= ihi || ihi >= n || !fits(n, n, h, ldh) || ldz < 1 ||
		vectors && !fits(n, n, z, ldz) || len(wr) < n || len(wi) < n || lwork < n || len(work) < lwork || !squarable(l.Dlange(lapack.MaxAbs, n, n, h, ldh, nil)) {
		return l.Implementation.Dhseqr(job, compz, n, ilo, ihi, h, ldh, wr, wi, z, ldz, work, lwork)
	}
	for i := 2; i < n; i++ {
		clear(h[i*ldh:][:i-1])
	}
	t := schur.Iteration[float64]{
		Kernels: cpu.NewHessenberg(co.host64(), newTeam(co)),
		H:       matrixOf(square(n, h, ldh)),
		Form:    job == lapack.EigenvaluesAndSchur, Re: wr[:n], Im: wi[:n],
	}
	var zt la.General[float64]
	if vectors {
		if compz == lapack.SchurHess {
			border(n, 0, 0, z, ldz)
		}
		zt = newGeneral(n, n)
		transposeTo(co, zt, square(n, z, ldz))
		t.Z, t.ZLo, t.ZHi = matrixOf(zt), ilo, ihi+1
	}
	unconverged, _ = t.Run(ilo, ihi)
	if vectors {
		transposeTo(co, square(n, z, ldz), zt)
	}
	l.Implementation.Dhseqr(job, compz, n, ilo, ihi, h, ldh, wr, wi, z, ldz, work, -1) // gonum's best lwork
	return unconverged
}
