package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// exactBackwardError is Refinement.BackwardError in 400 bits, 0/0 being 0.
func exactBackwardError(a, x, b mat.Matrix) float64 {
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(v) }
	raise := func(top, v *big.Float) {
		if v.Abs(v).Cmp(top) > 0 {
			top.Set(v)
		}
	}
	n, nrhs := x.Dims()
	norm, worst := number(0), 0.0
	for i := range n {
		sum := number(0)
		for j := range n {
			sum.Add(sum, number(math.Abs(a.At(i, j))))
		}
		raise(norm, sum)
	}
	for k := range nrhs {
		rTop, xTop, bTop := number(0), number(0), number(0)
		for i := range n {
			r := number(b.At(i, k))
			for j := range n {
				r.Sub(r, new(big.Float).SetPrec(400).Mul(number(a.At(i, j)), number(x.At(j, k))))
			}
			raise(rTop, r)
			raise(xTop, number(x.At(i, k)))
			raise(bTop, number(b.At(i, k)))
		}
		if rTop.Sign() == 0 {
			continue
		}
		of := xTop.Mul(xTop, norm)
		v, _ := rTop.Quo(rTop, of.Add(of, bTop)).Float64()
		worst = max(worst, v)
	}
	return worst
}

// solveMixed solves with a by one of the two solvers.
func solveMixed(t *testing.T, e *la.Engine, spd bool, x *mat.Dense, a *mat.SymDense, b mat.Matrix) (la.Refinement, error) {
	if spd {
		return la.SolveSPD(t.Context(), e, x, a, b)
	}
	full := mat.NewDense(a.SymmetricDim(), a.SymmetricDim(), nil)
	full.Copy(a)
	return la.SolveGeneral(t.Context(), e, x, full, b)
}

// The backward error is the right one for systems anywhere in the range: where
// ‖A‖∞ or ‖A‖∞·‖x‖∞ overflows and where the residual would vanish. A right-hand
// side of any size is solved for as well as one of 1.
func TestMixedRange(t *testing.T) {
	const n = 12
	plain := conditioned(n, 30)
	rnd := rand.New(rand.NewPCG(4, 4))
	for name, e := range sorted.Map(engines(t)) {
		for _, spd := range []bool{true, false} {
			for _, size := range []float64{1.7e308, 1e300, 1e200, 1e30, 1, 1e-30, 1e-200, 1e-290} {
				for _, right := range []float64{1.7e308, 1e300, 1e200, 1, 1e-200, 1e-300, 1e-315} {
					what := fmt.Sprintf("%s: SPD %t, A %g, b %g", name, spd, size, right)
					a, b := mat.NewSymDense(n, nil), mat.NewDense(n, 2, nil)
					for i := range n {
						for j := i; j < n; j++ {
							a.SetSym(i, j, size*plain.At(i, j))
						}
						b.Set(i, 0, right*(2*rnd.Float64()-1))
						b.Set(i, 1, 2*rnd.Float64()-1)
					}
					var x mat.Dense
					report, err := solveMixed(t, e, spd, &x, a, b)
					var overflow *la.OverflowError
					if errors.As(err, &overflow) && right > 1e100 {
						continue
					}
					if top := mat.Norm(&x, math.Inf(1)); err != nil || top-top != 0 {
						t.Errorf("%s: %v, ‖x‖ = %g", what, err, top)
						continue
					}
					want := exactBackwardError(a, &x, b)
					if got := report.BackwardError; !(math.Abs(got-want) <= 1e-15+1e-3*want) || got == 0 {
						t.Errorf("%s: %+v, want backward error %g", what, report, want)
					}
					least := math.Inf(1) // what the digits of x allow
					for j := range 2 {
						top := 0.0
						for i := range n {
							top = max(top, math.Abs(x.At(i, j)))
						}
						least = min(least, top)
					}
					inSingle := size <= 1e30 && size >= 1e-30
					// In float64 a subnormal b is divided as it is.
					if least > 0x1p-960 && (inSingle || right >= 1e-300) && !(want < 1e-14) {
						t.Errorf("%s: backward error %g, %+v", what, want, report)
					}
					if inSingle != (report.Fallback == la.NoFallback) {
						t.Errorf("%s: %+v", what, report)
					}
				}
			}
		}
	}
}

// The smallest systems converge, though rounding alone may give residuals that
// exceed LAPACK's limit of √n·ε·‖A‖·‖x‖.
func TestMixedTiny(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	e := start(t, la.Options{Workers: 1})
	for _, n := range []int{1, 2, 3, 5} {
		for range 300 {
			a, b := mat.NewSymDense(n, nil), mat.NewDense(n, 1, nil)
			for i := range n {
				for j := i; j < n; j++ {
					a.SetSym(i, j, rnd.Float64())
				}
				a.SetSym(i, i, float64(n)+rnd.Float64())
				b.Set(i, 0, rnd.NormFloat64())
			}
			for _, spd := range []bool{true, false} {
				var x mat.Dense
				report, err := solveMixed(t, e, spd, &x, a, b)
				if err != nil || report.Fallback != la.NoFallback || !(report.BackwardError <= 0x1p-51) {
					t.Fatalf("order %d, SPD %t: %+v, %v", n, spd, report, err)
				}
			}
		}
	}
	// Elements that float32 has, but not their inverses.
	for _, v := range []float64{1e-39, 1e-42, 3e-45} {
		for _, spd := range []bool{true, false} {
			var x mat.Dense
			report, err := solveMixed(t, e, spd, &x, mat.NewSymDense(1, []float64{v}), mat.NewDense(1, 1, []float64{1}))
			if err != nil || report.Fallback != la.OutOfRange || !(math.Abs(x.At(0, 0)*v-1) < 1e-15) {
				t.Errorf("%g: SPD %t: x = %g, %+v, %v", v, spd, x.At(0, 0), report, err)
			}
		}
	}
}
