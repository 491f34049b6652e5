package dropin_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// TestDgesvdJobs: values are gonum's in every job, what is stored multiplies back to A, nothing beside the matrices is
// written, and a NaN ends the call with false.
func TestDgesvdJobs(t *testing.T) {
	l := dropin.NewLAPACK(dropin.Options{})
	rng := rand.New(rand.NewPCG(9, 1))
	for _, shape := range [][2]int{{70, 60}, {60, 70}, {150, 40}, {40, 150}} {
		m, n := shape[0], shape[1]
		k := min(m, n)
		lda, ldu, ldvt := n+3, m+2, n+1
		a := make([]float64, m*lda)
		for i := range a {
			a[i] = rng.NormFloat64()
		}
		work := make([]float64, max(3*k+max(m, n), 5*k))
		want := make([]float64, k)
		if !(gonum.Implementation{}).Dgesvd(lapack.SVDNone, lapack.SVDNone, m, n, append([]float64(nil), a...), lda, want, nil, 1, nil, 1, work, len(work)) {
			t.Fatal("gonum's fails")
		}
		for _, jobU := range []lapack.SVDJob{lapack.SVDNone, lapack.SVDStore, lapack.SVDAll} {
			for _, jobVT := range []lapack.SVDJob{lapack.SVDNone, lapack.SVDStore, lapack.SVDAll} {
				b := append([]float64(nil), a...)
				s, u, vt := make([]float64, k), make([]float64, m*ldu), make([]float64, n*ldvt)
				for _, x := range [][]float64{s, u, vt, work} {
					for i := range x {
						x[i] = math.NaN()
					}
				}
				if !l.Dgesvd(jobU, jobVT, m, n, b, lda, s, u, ldu, vt, ldvt, work, len(work)) {
					t.Fatalf("%d×%d, %c%c: not ok", m, n, jobU, jobVT)
				}
				for i := range s {
					if !(math.Abs(s[i]-want[i]) < 1e-12) {
						t.Errorf("%d×%d, %c%c: value %d is %v, gonum's %v", m, n, jobU, jobVT, i, s[i], want[i])
					}
				}
				cols := map[lapack.SVDJob]int{lapack.SVDStore: k, lapack.SVDAll: m}[jobU]
				rows := map[lapack.SVDJob]int{lapack.SVDStore: k, lapack.SVDAll: n}[jobVT]
				for i, x := range u {
					if (i%ldu >= cols) != math.IsNaN(x) {
						t.Fatalf("%d×%d, %c%c: element %d of U is %v", m, n, jobU, jobVT, i, x)
					}
				}
				for i, x := range vt {
					if (i%ldvt >= n || i/ldvt >= rows) != math.IsNaN(x) {
						t.Fatalf("%d×%d, %c%c: element %d of Vᵀ is %v", m, n, jobU, jobVT, i, x)
					}
				}
				if cols > 0 && rows > 0 {
					for i := range m {
						for j := range n {
							x := a[i*lda+j]
							for p := range k {
								x -= u[i*ldu+p] * s[p] * vt[p*ldvt+j]
							}
							if !(math.Abs(x) < 1e-12) {
								t.Fatalf("%d×%d, %c%c: element %d, %d is not recovered", m, n, jobU, jobVT, i, j)
							}
						}
					}
				}
				optimum := work[0]
				b = append(b[:0], a...)
				l.Dgesvd(jobU, jobVT, m, n, b, lda, s, u, ldu, vt, ldvt, work, -1)
				if work[0] != optimum {
					t.Errorf("%d×%d, %c%c: best lwork is %v after a call, %v before", m, n, jobU, jobVT, optimum, work[0])
				}
				b[(m-1)*lda+n-1] = math.Inf(-1)
				if l.Dgesvd(jobU, jobVT, m, n, b, lda, s, u, ldu, vt, ldvt, work, len(work)) || !math.IsNaN(s[0]) {
					t.Errorf("%d×%d, %c%c: an infinite matrix has singular values", m, n, jobU, jobVT)
				}
			}
		}
	}
}

// TestAccurate: with the option, singular values and vectors of a graded matrix are gonum's, bit by bit.
func TestAccurate(t *testing.T) {
	const n = 60
	a := make([]float64, n*n)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		for j := range n {
			a[i*n+j] = rng.NormFloat64() * math.Pow(2, float64(-i))
		}
	}
	decompose := func(l lapack.Float64) []float64 {
		s, u, vt, work := make([]float64, n), make([]float64, n*n), make([]float64, n*n), make([]float64, 10*n)
		if !l.Dgesvd(lapack.SVDAll, lapack.SVDAll, n, n, slices.Clone(a), n, s, u, n, vt, n, work, len(work)) {
			t.Fatal("no convergence")
		}
		return append(s, u...)
	}
	want := decompose(gonum.Implementation{})
	// Nothing is installed, so gonum's LAPACK calls gonum's BLAS.
	if got := decompose(dropin.NewLAPACK(dropin.Options{Accurate: true})); !slices.Equal(got, want) {
		t.Error("other values than gonum's")
	}
	if got := decompose(dropin.NewLAPACK(dropin.Options{})); slices.Equal(got, want) {
		t.Error("the same bits without the option")
	}
}
