package dropin_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// TestDgesvdJobs: values are gonum's in every job, what is stored multiplies back to A, nothing beside the matrices is
// written, and a NaN ends the call with false; in tiles and without, also of zeros and near the ends of the range.
func TestDgesvdJobs(t *testing.T) {
	e, err := la.NewEngine(la.Options{Workers: 2, Float: true, Static: true, NB: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	tiles, plain := dropin.NewLAPACK(dropin.Options{Engine: e, Small: -1}), dropin.NewLAPACK(dropin.Options{})
	for _, shape := range [][2]int{{70, 60}, {60, 70}, {150, 40}, {40, 150}} {
		for _, scale := range []float64{1, 0, 0x1p-960, 0x1p960} {
			testDgesvdJobs(t, plain, shape[0], shape[1], scale)
			testDgesvdJobs(t, tiles, shape[0], shape[1], scale)
		}
	}
	for _, shape := range [][2]int{{1, 1}, {1, 4}, {5, 3}, {10, 10}, {200, 130}} {
		testDgesvdJobs(t, tiles, shape[0], shape[1], 1)
	}
}

func testDgesvdJobs(t *testing.T, l dropin.LAPACK, m, n int, scale float64) {
	k := min(m, n)
	lda, ldu, ldvt := n+3, m+2, n+1
	rng := rand.New(rand.NewPCG(9, 1))
	a := make([]float64, m*lda)
	for i := range a {
		a[i] = scale * rng.NormFloat64()
	}
	work := make([]float64, max(3*k+max(m, n), 5*k))
	want := make([]float64, k)
	if !(gonum.Implementation{}).Dgesvd(lapack.SVDNone, lapack.SVDNone, m, n, append([]float64(nil), a...), lda, want, nil, 1, nil, 1, work, len(work)) {
		t.Fatal("gonum's fails")
	}
	for _, jobU := range []lapack.SVDJob{lapack.SVDNone, lapack.SVDStore, lapack.SVDAll} {
		for _, jobVT := range []lapack.SVDJob{lapack.SVDNone, lapack.SVDStore, lapack.SVDAll} {
			what := fmt.Sprintf("%d×%d, scale %g, %c%c", m, n, scale, jobU, jobVT)
			b := append([]float64(nil), a...)
			s, u, vt := make([]float64, k), make([]float64, m*ldu), make([]float64, n*ldvt)
			for _, x := range [][]float64{s, u, vt, work} {
				for i := range x {
					x[i] = math.NaN()
				}
			}
			if !l.Dgesvd(jobU, jobVT, m, n, b, lda, s, u, ldu, vt, ldvt, work, len(work)) {
				t.Fatalf("%s: not ok", what)
			}
			for i := range s {
				if !(math.Abs(s[i]-want[i]) <= 1e-12*scale) {
					t.Errorf("%s: value %d is %v, gonum's %v", what, i, s[i], want[i])
				}
			}
			cols := map[lapack.SVDJob]int{lapack.SVDStore: k, lapack.SVDAll: m}[jobU]
			rows := map[lapack.SVDJob]int{lapack.SVDStore: k, lapack.SVDAll: n}[jobVT]
			for i, x := range u {
				if (i%ldu >= cols) != math.IsNaN(x) {
					t.Fatalf("%s: element %d of U is %v", what, i, x)
				}
			}
			for i, x := range vt {
				if (i%ldvt >= n || i/ldvt >= rows) != math.IsNaN(x) {
					t.Fatalf("%s: element %d of Vᵀ is %v", what, i, x)
				}
			}
			for i := range cols {
				for j := range i + 1 {
					dot := 0.0
					for p := range m {
						dot += u[p*ldu+i] * u[p*ldu+j]
					}
					if i == j {
						dot--
					}
					if !(math.Abs(dot) < 1e-12) {
						t.Fatalf("%s: columns %d and %d of U", what, i, j)
					}
				}
			}
			for i := range rows {
				for j := range i + 1 {
					dot := 0.0
					for p := range n {
						dot += vt[i*ldvt+p] * vt[j*ldvt+p]
					}
					if i == j {
						dot--
					}
					if !(math.Abs(dot) < 1e-12) {
						t.Fatalf("%s: rows %d and %d of Vᵀ", what, i, j)
					}
				}
			}
			if cols > 0 && rows > 0 {
				for i := range m {
					for j := range n {
						x := a[i*lda+j]
						for p := range k {
							x -= u[i*ldu+p] * s[p] * vt[p*ldvt+j]
						}
						if !(math.Abs(x) <= 1e-12*scale) {
							t.Fatalf("%s: element %d, %d is not recovered", what, i, j)
						}
					}
				}
			}
			optimum := work[0]
			b = append(b[:0], a...)
			l.Dgesvd(jobU, jobVT, m, n, b, lda, s, u, ldu, vt, ldvt, work, -1)
			if work[0] != optimum {
				t.Errorf("%s: best lwork is %v after a call, %v before", what, optimum, work[0])
			}
			b[(m-1)*lda+n-1] = math.Inf(-1)
			if l.Dgesvd(jobU, jobVT, m, n, b, lda, s, u, ldu, vt, ldvt, work, len(work)) || !math.IsNaN(s[0]) {
				t.Errorf("%s: an infinite matrix has singular values", what)
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
