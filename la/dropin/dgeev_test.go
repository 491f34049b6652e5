package dropin_test

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// TestDgeevJobs: values are gonum's in every job, with the least work space, nothing beside the matrices is written, and a NaN ends the call.
func TestDgeevJobs(t *testing.T) {
	l := dropin.NewLAPACK(dropin.Options{})
	rng := rand.New(rand.NewPCG(9, 1))
	for _, n := range []int{33, 140} {
		lda, ldvl, ldvr := n+3, n+2, n+1
		a := make([]float64, n*lda)
		for i := range a {
			a[i] = rng.NormFloat64()
		}
		re, im := make([]float64, n), make([]float64, n)
		work := make([]float64, 4*n)
		if (gonum.Implementation{}).Dgeev(lapack.LeftEVNone, lapack.RightEVNone, n, append([]float64(nil), a...), lda, re, im, nil, 1, nil, 1, work, 4*n) != 0 {
			t.Fatal("gonum's fails")
		}
		for _, left := range []lapack.LeftEVJob{lapack.LeftEVNone, lapack.LeftEVCompute} {
			for _, right := range []lapack.RightEVJob{lapack.RightEVNone, lapack.RightEVCompute} {
				lwork := 4 * n
				if left == lapack.LeftEVNone && right == lapack.RightEVNone {
					lwork = 3 * n
				}
				b := append([]float64(nil), a...)
				wr, wi := make([]float64, n), make([]float64, n)
				vl, vr := make([]float64, n*ldvl), make([]float64, n*ldvr)
				for _, x := range [][]float64{wr, wi, vl, vr, work} {
					for i := range x {
						x[i] = math.NaN()
					}
				}
				if first := l.Dgeev(left, right, n, b, lda, wr, wi, vl, ldvl, vr, ldvr, work[:lwork], lwork); first != 0 {
					t.Fatalf("n = %d, %c%c: first is %d", n, left, right, first)
				}
				taken := make([]bool, n)
				for i := range n {
					at, least := 0, math.Inf(1)
					for j := range n {
						if d := cmplx.Abs(complex(wr[i]-re[j], wi[i]-im[j])); !taken[j] && d < least {
							at, least = j, d
						}
					}
					taken[at] = true
					if !(least < 1e-11) {
						t.Errorf("n = %d, %c%c: value %v is %v off gonum's nearest", n, left, right, complex(wr[i], wi[i]), least)
					}
				}
				for i, x := range vl {
					if (left == lapack.LeftEVNone || i%ldvl >= n) != math.IsNaN(x) {
						t.Fatalf("n = %d, %c%c: element %d of VL is %v", n, left, right, i, x)
					}
				}
				for i, x := range vr {
					if (right == lapack.RightEVNone || i%ldvr >= n) != math.IsNaN(x) {
						t.Fatalf("n = %d, %c%c: element %d of VR is %v", n, left, right, i, x)
					}
				}
				for i, x := range b {
					if i%lda >= n && x != a[i] {
						t.Fatalf("n = %d, %c%c: element %d beside A was written", n, left, right, i)
					}
				}
				if query := make([]float64, 1); !(work[0] >= float64(lwork)) {
					l.Dgeev(left, right, n, b, lda, wr, wi, vl, ldvl, vr, ldvr, query, -1)
					t.Errorf("n = %d, %c%c: the best lwork is %v, the query says %v", n, left, right, work[0], query[0])
				}
			}
		}
		a[3*lda+1] = math.Inf(1)
		if first := l.Dgeev(lapack.LeftEVNone, lapack.RightEVNone, n, a, lda, re, im, nil, 1, nil, 1, work, 4*n); first != n || !math.IsNaN(re[0]) || !math.IsNaN(im[n-1]) {
			t.Errorf("n = %d: an infinite matrix has eigenvalues from %d on", n, first)
		}
	}
}
