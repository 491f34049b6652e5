package matcalls

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
)

func TestCompare(t *testing.T) {
	before := blas64.Implementation()
	for _, op := range Ops() {
		for _, n := range []int{5, 300} {
			r, err := Compare(context.Background(), quick(), op, n)
			if err != nil || !r.Passed || r.Op != op.String() || r.N != n {
				t.Errorf("%v %d: %+v, %v", op, n, r, err)
			}
			if r.OverGonum != r.Dropin.GFLOPSBest/r.Gonum.GFLOPSBest || (r.Netlib != nil) != HasNetlib() {
				t.Errorf("%v %d: %+v", op, n, r)
			}
			for _, s := range []Side{r.Dropin, r.Gonum} {
				if s.Calls != 3 || !(s.GFLOPSBest > 0) || !(s.Residual >= 0 && s.Residual < 3) {
					t.Errorf("%v %d: %+v", op, n, s)
				}
			}
		}
	}
	if blas64.Implementation() != before {
		t.Error("gonum has another BLAS than before")
	}
}

// sloppy is a LAPACK that gets one element wrong, and sloppyBLAS a BLAS.
type (
	sloppy     struct{ lapackgonum.Implementation }
	sloppyBLAS struct{ blasgonum.Implementation }
)

func (s sloppyBLAS) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	s.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	c[ldc+1] += 1e-6
}

func (s sloppy) Dpotrf(ul blas.Uplo, n int, a []float64, lda int) bool {
	ok := s.Implementation.Dpotrf(ul, n, a, lda)
	a[lda+1] += 1e-6
	return ok
}

func (s sloppy) Dgetrf(m, n int, a []float64, lda int, ipiv []int) bool {
	ok := s.Implementation.Dgetrf(m, n, a, lda, ipiv)
	a[lda+1] += 1e-6
	return ok
}

func (s sloppy) Dgeqrf(m, n int, a []float64, lda int, tau, work []float64, lwork int) {
	s.Implementation.Dgeqrf(m, n, a, lda, tau, work, lwork)
	if lwork != -1 {
		a[lda+1] += 1e-6
	}
}

var _ lapack.Float64 = sloppy{}

// The judges of mat's calls see an element that is wrong.
func TestJudges(t *testing.T) {
	defer implementation{blasgonum.Implementation{}, lapackgonum.Implementation{}, 1}.use()
	for _, op := range Ops() {
		for _, wrong := range []bool{false, true} {
			c, err := newCall(3, op, 100)
			if err != nil {
				t.Fatal(err)
			}
			impl := implementation{blasgonum.Implementation{}, lapackgonum.Implementation{}, 1}
			if wrong {
				impl.lapack = sloppy{}
				if op == Mul {
					impl.blas = sloppyBLAS{}
				}
			}
			impl.use()
			c.call()
			if x := c.residual(); (x < c.bound) == wrong || math.IsNaN(x) {
				t.Errorf("%v, wrong %v: residual %g", op, wrong, x)
			}
		}
	}
}

func TestCompareCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	cfg := quick()
	cfg.Settle = time.Hour
	time.AfterFunc(20*time.Millisecond, func() { cancel(enough) })
	if _, err := Compare(ctx, cfg, Mul, 64); !errors.Is(err, enough) {
		t.Errorf("error is %v", err)
	}
}

// What is judged is an error's effect on a vector: one that is not a number
// counts as infinite.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		y, z []float64
		want float64
	}{{[]float64{1, -2, 3}, []float64{1, 2, 2}, 4}, {[]float64{1, math.NaN()}, []float64{1, 1}, math.Inf(1)}, {nil, nil, 0}} {
		if got := distance(c.y, c.z); got != c.want {
			t.Errorf("%v, %v: %g", c.y, c.z, got)
		}
	}
}
