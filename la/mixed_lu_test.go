package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/dot2"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// TestSolveGeneralKinds solves with every square matrix of matgen, and fails
// where a solution in float64 does.
func TestSolveGeneralKinds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 1))
	for name, opt := range sorted.Map(map[string]la.Options{
		"tiles":  {Workers: 2, NB: 7, Direct: -1},
		"direct": {Workers: 1, Direct: 1 << 20},
	}) {
		e := start(t, opt)
		for _, kind := range matgen.Kinds() {
			for _, n := range []int{1, 7, 8, 23} {
				if n >= grows(kind) {
					continue
				}
				for _, nrhs := range []int{1, 9} {
					what := fmt.Sprintf("%s, %v, n %d, nrhs %d", name, kind, n, nrhs)
					a := rectangle[float64](t, matgen.Spec{Kind: kind, M: n, N: n, Seed: 5, NB: 7}, n%3)
					b, x := random[float64](rnd, n, nrhs, 1), padded[float64](n, nrhs, 2)
					a0, b0, x0 := clone(a), clone(b), clone(x)
					report, err := la.SolveGeneral(t.Context(), e, x, a, b)
					unchanged(t, what+": A", a, a0, nil)
					unchanged(t, what+": B", b, b0, nil)
					unchanged(t, what+": X", x, x0, everywhere)
					var singular, same *la.SingularError
					var cond mat.Condition
					switch {
					case errors.As(err, &singular):
						if _, err := la.Solve[float64](t.Context(), e, padded[float64](n, nrhs, 0), a, b); !errors.As(err, &same) {
							t.Errorf("%s: singular here, otherwise %v", what, err)
						}
						continue
					case errors.As(err, &cond):
					case err != nil:
						t.Errorf("%s: %v", what, err)
						continue
					}
					dx := load[float64](x, blas.NoTrans)
					if norm := dx.norm1(); norm-norm != 0 {
						if cond == 0 && kind != matgen.Tiny && kind != matgen.SPDTiny {
							t.Errorf("%s: the solution is not finite", what)
						}
						continue
					}
					da := load[float64](a, blas.NoTrans)
					small(t, solveResidual[float64](da, dx, load[float64](b, blas.NoTrans)), 30, "%s, %+v", what, report)
					if !(report.BackwardError <= float64(n+10)*0x1p-52) {
						t.Errorf("%s: %+v", what, report)
					}
				}
			}
		}
	}
}

// TestSolveGeneralIterations is TestSolveSPDIterations for LU, with what makes
// it fall back.
func TestSolveGeneralIterations(t *testing.T) {
	const n = 100
	e := start(t, la.Options{Workers: 2, NB: 32, Direct: -1, Deterministic: true})
	b := asDense(random[float64](rand.New(rand.NewPCG(2, 1)), n, 3, 0))
	for _, c := range []struct {
		cond        float64
		least, most int
		converges   bool
	}{
		{1, 0, 2, true}, {2, 1, 2, true}, {1e2, 1, 3, true}, {1e4, 1, 4, true}, {1e6, 1, 12, true}, {1e11, 0, 30, false}, {1e15, 0, 30, false},
	} {
		a := asDense(rectangle[float64](t, matgen.Spec{Kind: matgen.Cond, M: n, N: n, Cond: c.cond, Seed: 3}, 0))
		var x mat.Dense
		report, err := la.SolveGeneral(t.Context(), e, &x, a, b)
		if err != nil {
			t.Fatalf("condition %g: %v", c.cond, err)
		}
		if (report.Fallback == la.NoFallback) != c.converges || report.Iterations < c.least || report.Iterations > c.most {
			t.Errorf("condition %g: %+v, want %d to %d iterations", c.cond, report, c.least, c.most)
		}
		if !(report.BackwardError < 1e-15) {
			t.Errorf("condition %g: %+v", c.cond, report)
		}
		if !c.converges {
			continue
		}
		anorm := mat.Norm(a, math.Inf(1))
		for j := range 3 {
			rTop, xTop := 0.0, 0.0
			for i := range n {
				rTop = max(rTop, math.Abs(dot2.Dot(-b.At(i, j), a.RawRowView(i), mat.Col(nil, j, &x))))
				xTop = max(xTop, math.Abs(x.At(i, j)))
			}
			if limit := math.Sqrt(n) * 0x1p-53 * anorm * xTop; rTop > 1.5*limit {
				t.Errorf("condition %g: residual %g of column %d, want at most %g", c.cond, rTop, j, limit)
			}
		}
	}
	for name, c := range map[string]struct {
		a    func(i, j int) float64
		want la.Fallback
	}{
		"too large": {func(i, j int) float64 {
			if i == j {
				return 1e39
			}
			return float64(i - 2*j)
		}, la.OutOfRange},
		"zeros in float32": {func(i, j int) float64 {
			if i == j {
				return 1e-60
			}
			return 0
		}, la.NotFactored},
		"equal rows in float32": {func(i, j int) float64 {
			switch {
			case i == 1 && j == 1:
				return 1 + 1e-12
			case i < 2 && j < 2 || i == j:
				return 1
			}
			return 0
		}, la.NotFactored},
	} {
		a := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				a.Set(i, j, c.a(i, j))
			}
		}
		var x mat.Dense
		report, err := la.SolveGeneral(t.Context(), e, &x, a, b)
		if err != nil || report.Fallback != c.want || !(report.BackwardError < 1e-15) {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}

// TestSolveGeneralSources solves with a matrix in several forms, and with dst
// being A or B.
func TestSolveGeneralSources(t *testing.T) {
	const n = 21
	rnd := rand.New(rand.NewPCG(5, 1))
	g := random[float64](rnd, n, n, 3)
	d := asDense(g)
	tiled := func(nb int) *blocked.Matrix[float64] {
		m, _ := blocked.From[float64](g, blocked.Full, nb, blocked.CopyOptions{})
		return m
	}
	sym := conditioned(n, 10)
	half, _ := blocked.From[float64](sym, blocked.SymLower, 6, blocked.CopyOptions{})
	for engine, e := range sorted.Map(engines(t)) {
		for name, a := range sorted.Map(map[string]la.Source[float64]{
			"General": g, "Dense": d, "T": d.T(), "hidden": hidden[float64]{g}, "tiles": tiled(5), "others": tiled(8),
			"symmetric": sym, "half": half,
		}) {
			what := engine + ", " + name
			b := asDense(random[float64](rnd, n, 4, 0))
			var x mat.Dense
			report, err := la.SolveGeneral(t.Context(), e, &x, a, b)
			if err != nil || report.Fallback != la.NoFallback {
				t.Errorf("%s: %+v, %v", what, report, err)
				continue
			}
			small(t, solveResidual[float64](load[float64](a, blas.NoTrans), load[float64](&x, blas.NoTrans), load[float64](b, blas.NoTrans)), 30, "%s", what)
			if _, err := la.SolveGeneral(t.Context(), e, b, a, b); err != nil || engine != "nil" && !mat.Equal(b, &x) {
				t.Errorf("%s: dst = B: another solution, %v", what, err)
			}
		}
		own, square := mat.DenseCopyOf(d), asDense(random[float64](rnd, n, n, 0))
		if _, err := la.SolveGeneral(t.Context(), e, own, own.T(), square); err != nil {
			t.Fatal(err)
		}
		small(t, solveResidual[float64](load[float64](d.T(), blas.NoTrans), load[float64](own, blas.NoTrans), load[float64](square, blas.NoTrans)), 30, "%s: dst = A", engine)
	}
}

// TestSolveGeneralDeterministic expects the same bits of any number of workers.
func TestSolveGeneralDeterministic(t *testing.T) {
	const n = 90
	rnd := rand.New(rand.NewPCG(6, 1))
	a, b := random[float64](rnd, n, n, 0), random[float64](rnd, n, 3, 0)
	refinedAlike(t, "getrf/f64", func(e *la.Engine, x *mat.Dense) (la.Refinement, error) {
		return la.SolveGeneral(t.Context(), e, x, a, b)
	})
}

func TestSolveGeneralErrors(t *testing.T) {
	const n = 9
	for name, e := range engines(t) {
		a, b := asDense(random[float64](rand.New(rand.NewPCG(6, 2)), n, n, 0)), mat.NewDense(n, 2, nil)
		x := mat.NewDense(n, 2, nil)
		x.Set(1, 1, 7)
		bad := mat.DenseCopyOf(a)
		bad.Set(5, 2, math.Inf(1))
		bad.Set(6, 1, math.NaN())
		var nf *la.NonFiniteError
		if _, err := la.SolveGeneral(t.Context(), e, x, bad, b); !errors.As(err, &nf) || nf.Row != 5 || nf.Col != 2 {
			t.Errorf("%s: %v", name, err)
		}
		var singular *la.SingularError
		bad = mat.DenseCopyOf(a)
		for i := range n {
			bad.Set(i, 3, 0)
		}
		if _, err := la.SolveGeneral(t.Context(), e, x, bad, b); !errors.As(err, &singular) || singular.Column != 4 {
			t.Errorf("%s: %v", name, err)
		}
		if x.At(1, 1) != 7 || x.At(0, 0) != 0 {
			t.Errorf("%s: dst was written", name)
		}
	}
}

// The solution may take the place of A, also after a fall-back: what is said of
// it is then the same as elsewhere.
func TestSolveGeneralInPlace(t *testing.T) {
	const n = 40
	for name, e := range engines(t) {
		a, b := mat.DenseCopyOf(conditioned(n, 1e11)), asDense(random[float64](rand.New(rand.NewPCG(4, 2)), n, n, 0))
		var x mat.Dense
		want, err := la.SolveGeneral(t.Context(), e, &x, a, b)
		if err != nil || want.Fallback == la.NoFallback {
			t.Fatalf("%s: %+v, %v", name, want, err)
		}
		got, err := la.SolveGeneral(t.Context(), e, a, a, b)
		if err != nil || got.BackwardError > 1e-14 || got.Fallback != want.Fallback || !mat.EqualApprox(a, &x, 1e-6*mat.Norm(&x, 1)) {
			t.Errorf("%s: %+v in the place of A, %+v elsewhere: %v", name, got, want, err)
		}
	}
}
