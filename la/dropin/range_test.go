package dropin_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
)

// The elements of an inverse near the ends of the range are finite where gonum's
// are.
func TestTrtriRange(t *testing.T) {
	ref := lapackgonum.Implementation{}
	for _, installed := range []bool{false, true} {
		for _, small := range []int{0, -1} {
			l := dropin.NewLAPACK(dropin.Options{Small: small})
			for _, n := range []int{10, 70, 130, 300} {
				for _, scale := range []float64{1, 1e150, 1e290, 1e300, 1e305, 1e-300} {
					for _, uplo := range []blas.Uplo{blas.Upper, blas.Lower} {
						for _, diag := range []blas.Diag{blas.Unit, blas.NonUnit} {
							want := random(n * n)
							for i := range want {
								want[i] *= scale
							}
							got := append([]float64(nil), want...)
							ok := ref.Dtrtri(uplo, diag, n, want, n)
							if installed {
								if err := dropin.Install(); err != nil {
									t.Fatal(err)
								}
							}
							if l.Dtrtri(uplo, diag, n, got, n) != ok {
								t.Errorf("n=%d, scale %g: not %v", n, scale, ok)
							}
							if installed {
								dropin.Restore()
							}
							for i, v := range got {
								if w := want[i]; (v-v == 0) != (w-w == 0) {
									t.Fatalf("n=%d, scale %g, %c %c: element (%d, %d) is %g, gonum's %g", n, scale, uplo, diag, i/n, i%n, v, w)
								}
							}
						}
					}
				}
			}
		}
	}
	if _, ok := blas64.Implementation().(dropin.BLAS); ok {
		t.Error("still installed")
	}
}

// The condition of a matrix is estimated by ours: gonum's would need the last quarter of
// work, and is slower.
func TestDgeconIsOurs(t *testing.T) {
	const n = 100
	a, work := make([]float64, n*n), make([]float64, 4*n)
	for i := range n {
		a[i*n+i] = 2
	}
	for i := range work {
		work[i] = math.NaN()
	}
	l := dropin.NewLAPACK(dropin.Options{Small: -1})
	if c := l.Dgecon(lapack.MaxColumnSum, n, a, n, 2, work, make([]int, n)); c != 1 || !math.IsNaN(work[3*n]) {
		t.Errorf("condition %g, work[3n] is %g", c, work[3*n])
	}
}

// A NaN or an infinity in a triangle has the effect that it has with gonum.
func TestTriangleNonFinite(t *testing.T) {
	b, l := dropin.NewBLAS(dropin.Options{Small: -1}), dropin.NewLAPACK(dropin.Options{Small: -1})
	refB, refL := blasgonum.Implementation{}, lapackgonum.Implementation{}
	for _, n := range []int{3, 70, 300} {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, at := range [][2]int{{0, 0}, {1, 1}, {n - 1, n - 1}, {0, n - 1}, {n - 1, 0}, {1, 2}, {2, 1}, {0, -1}} {
				rnd := rand.New(rand.NewPCG(3, uint64(n)))
				a, x := make([]float64, n*n), make([]float64, n)
				for i := range a {
					a[i] = rnd.NormFloat64() / float64(n)
				}
				for i := range n {
					a[i*n+i] = 1 + rnd.Float64()
				}
				if at[1] >= 0 {
					a[at[0]*n+at[1]] = bad
				} else {
					for i := range a {
						a[i] = bad
					}
				}
				work, iwork := make([]float64, 3*n), make([]int, n)
				for _, uplo := range []blas.Uplo{blas.Upper, blas.Lower} {
					for _, diag := range []blas.Diag{blas.Unit, blas.NonUnit} {
						what := fmt.Sprintf("n=%d, %g at %v, %c %c", n, bad, at, uplo, diag)
						for _, norm := range []lapack.MatrixNorm{lapack.MaxColumnSum, lapack.MaxRowSum} {
							got := l.Dtrcon(norm, uplo, diag, n, a, n, work, iwork)
							want := refL.Dtrcon(norm, uplo, diag, n, a, n, work, iwork)
							if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-10*want {
								t.Errorf("%s: Dtrcon is %g, gonum's %g", what, got, want)
							}
						}
						for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
							clear(x)
							x[n/2] = 1
							y := append([]float64(nil), x...)
							b.Dtrsv(uplo, tA, diag, n, a, n, x, 1)
							refB.Dtrsv(uplo, tA, diag, n, a, n, y, 1)
							for i, v := range x {
								if w := y[i]; (v-v == 0) != (w-w == 0) {
									t.Errorf("%s %c: Dtrsv has %g at %d, gonum's %g", what, tA, v, i, w)
									break
								}
							}
						}
					}
				}
			}
		}
	}
}

// A zero times a NaN or an infinity is NaN, where gonum leaves the product out; docs/gonum.md
// says so.
func TestZeroTimesNaN(t *testing.T) {
	const n = 400
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		a, b := make([]float64, n*n), make([]float64, n*n)
		for i := range n {
			a[i*n+i], b[i*n+i] = 1, 1
		}
		b[1] = bad // a[n] is 0, and so the product should have 0·bad in row 1
		ours, theirs := make([]float64, n*n), make([]float64, n*n)
		dropin.BLAS{}.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a, n, b, n, 0, ours, n)
		blasgonum.Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a, n, b, n, 0, theirs, n)
		if !math.IsNaN(ours[n+1]) || theirs[n+1] != 1 {
			t.Errorf("0·%v + 1·1: ours %v, gonum's %v", bad, ours[n+1], theirs[n+1])
		}
	}
}
