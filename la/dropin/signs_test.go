package dropin_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// TestSigns: vectors of small matrices are gonum's, with their signs.
func TestSigns(t *testing.T) {
	l, g := dropin.NewLAPACK(dropin.Options{}), gonum.Implementation{}
	rng := rand.New(rand.NewPCG(2, 5))
	normal := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	same := func(name string, m, n int, x, y []float64) {
		t.Helper()
		for i := range x {
			if !(math.Abs(x[i]-y[i]) < 1e-8) {
				t.Errorf("%s %d×%d: element %d is %v, gonum's %v", name, m, n, i, x[i], y[i])
				return
			}
		}
	}
	for n := 1; n <= 12; n++ {
		for range 8 {
			a := normal(n * n)
			b, w, work := slices.Clone(a), make([]float64, n), make([]float64, 64*n)
			if !l.Dsyev(lapack.EVCompute, blas.Upper, n, a, n, w, work, len(work)) || !g.Dsyev(lapack.EVCompute, blas.Upper, n, b, n, w, work, len(work)) {
				t.Fatal("Dsyev: not ok")
			}
			same("Dsyev", n, n, a, b)
			for _, m := range []int{n, n + n/3, n + n/2, 3 * n} {
				if m > n+n/3 && n > 5 { // divided and conquered after a QR factorization
					continue
				}
				a := normal(m * n)
				b, u, v, vg, ug := slices.Clone(a), make([]float64, m*n), make([]float64, n*n), make([]float64, n*n), make([]float64, m*n)
				work := make([]float64, 64*m)
				if !l.Dgesvd(lapack.SVDStore, lapack.SVDStore, m, n, a, n, w, u, n, v, n, work, len(work)) ||
					!g.Dgesvd(lapack.SVDStore, lapack.SVDStore, m, n, b, n, w, ug, n, vg, n, work, len(work)) {
					t.Fatal("Dgesvd: not ok")
				}
				same("U of Dgesvd", m, n, u, ug)
				same("VT of Dgesvd", m, n, v, vg)
			}
		}
	}
}

// TestSmallExtremes: small matrices may have a NaN or infinity, which ends the call with false, and elements whose squares over- or
// underflow.
func TestSmallExtremes(t *testing.T) {
	l := dropin.NewLAPACK(dropin.Options{})
	work := make([]float64, 200)
	for _, n := range []int{1, 2, 5} {
		for _, scale := range []float64{0x1p-1060, 0x1p-600, 0, 0x1p1000} {
			a, u, v, w := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n), make([]float64, n)
			for i := range n {
				a[i*n+i] = scale * float64(i+1)
			}
			b := slices.Clone(a)
			if !l.Dsyev(lapack.EVCompute, blas.Upper, n, a, n, w, work, len(work)) || w[0] != scale || w[n-1] != scale*float64(n) {
				t.Errorf("n=%d, scale %g: eigenvalues are %v", n, scale, w)
			}
			if !l.Dgesvd(lapack.SVDStore, lapack.SVDStore, n, n, b, n, w, u, n, v, n, work, len(work)) || w[n-1] != scale || w[0] != scale*float64(n) {
				t.Errorf("n=%d, scale %g: singular values are %v", n, scale, w)
			}
		}
		for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
			a, u, v, w := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n), make([]float64, n)
			a[n-1] = bad
			if l.Dsyev(lapack.EVCompute, blas.Upper, n, slices.Clone(a), n, w, work, len(work)) && n > 1 {
				t.Errorf("n=%d: a matrix with %v has eigenvalues", n, bad)
			}
			if l.Dgesvd(lapack.SVDStore, lapack.SVDStore, n, n, a, n, w, u, n, v, n, work, len(work)) && n > 1 {
				t.Errorf("n=%d: a matrix with %v has singular values", n, bad)
			}
		}
	}
}
