package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// TestSolveSPDKinds solves with every positive definite matrix of matgen that
// float64 can factor, in tiles of several sizes and directly.
func TestSolveSPDKinds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 1))
	for name, opt := range sorted.Map(map[string]la.Options{
		"tiles":  {Workers: 2, NB: 7, Direct: -1},
		"direct": {Workers: 1, Direct: 1 << 20},
		"auto":   {Workers: 2},
	}) {
		e := start(t, opt)
		for _, kind := range matgen.Kinds() {
			if !kind.PositiveDefinite() {
				continue
			}
			for _, n := range []int{1, 6, 7, 8, 20, 50} {
				if limit := spoiled[float64](kind); limit > 0 && n >= limit {
					continue
				}
				for _, nrhs := range []int{1, 9} {
					what := fmt.Sprintf("%s, %v, n %d, nrhs %d", name, kind, n, nrhs)
					uplo := []blas.Uplo{blas.Lower, blas.Upper}[n%2]
					a := symmetric[float64](t, matgen.Spec{Kind: kind, N: n, Seed: 3, NB: 7}, uplo, 2)
					a0, b := clone(general(a)), random[float64](rnd, n, nrhs, 1)
					b0, x := clone(b), padded[float64](n, nrhs, 2)
					x0 := clone(x)
					report, err := la.SolveSPD(t.Context(), e, x, a, b)
					var c mat.Condition
					if err != nil && !errors.As(err, &c) {
						t.Errorf("%s: %v", what, err)
						continue
					}
					unchanged(t, what+": A", general(a), a0, nil)
					unchanged(t, what+": B", b, b0, nil)
					unchanged(t, what+": X", x, x0, everywhere)
					da := load[float64](a, blas.NoTrans)
					small(t, solveResidual[float64](da, load[float64](x, blas.NoTrans), load[float64](b, blas.NoTrans)), 30, "%s, %+v", what, report)
					if !(report.BackwardError <= float64(n+10)*0x1p-52) {
						t.Errorf("%s: %+v", what, report)
					}
					if report.Iterations > 30 || report.Fallback == la.OutOfRange && kind != matgen.SPDHuge {
						t.Errorf("%s: %+v", what, report)
					}
				}
			}
		}
	}
}

// TestSolveSPDIterations holds the number of refinements against the rule: each
// multiplies the error by about κ·2⁻²⁴, or by rounding alone if that is small.
func TestSolveSPDIterations(t *testing.T) {
	const n = 120
	e := start(t, la.Options{Workers: 2, NB: 32, Direct: -1, Deterministic: true})
	for _, c := range []struct {
		cond        float64
		least, most int
		fallback    la.Fallback
	}{
		{1, 0, 2, la.NoFallback},
		{2, 1, 2, la.NoFallback},
		{1e2, 1, 3, la.NoFallback},
		{1e4, 1, 4, la.NoFallback},
		{1e6, 1, 15, la.NoFallback},
		{1e10, 0, 30, la.NotFactored},
		{1e13, 0, 30, la.NotFactored},
	} {
		a := conditioned(n, c.cond)
		b := mat.NewDense(n, 3, nil)
		rnd := rand.New(rand.NewPCG(1, 1))
		for i := range n {
			for j := range 3 {
				b.Set(i, j, rnd.NormFloat64())
			}
		}
		var x mat.Dense
		report, err := la.SolveSPD(t.Context(), e, &x, a, b)
		if err != nil {
			t.Fatalf("condition %g: %v", c.cond, err)
		}
		if report.Fallback != c.fallback || report.Iterations < c.least || report.Iterations > c.most {
			t.Errorf("condition %g: %+v, want %d to %d iterations, fallback %v", c.cond, report, c.least, c.most, c.fallback)
		}
		// LAPACK's criterion, held here in plain loops.
		if report.Fallback == la.NoFallback {
			anorm := mat.Norm(a, math.Inf(1))
			for j := range 3 {
				rTop, xTop := 0.0, 0.0
				for i := range n {
					r := b.At(i, j)
					for l := range n {
						r = math.FMA(-a.At(i, l), x.At(l, j), r)
					}
					rTop, xTop = max(rTop, math.Abs(r)), max(xTop, math.Abs(x.At(i, j)))
				}
				// The rounding of the residual itself comes on top.
				if limit := math.Sqrt(n) * 0x1p-53 * anorm * xTop; rTop > 1.5*limit {
					t.Errorf("condition %g: residual %g of column %d, want at most %g", c.cond, rTop, j, limit)
				}
			}
		}
	}
}

// conditioned returns H·D·H of order n with eigenvalues from 1 to 1/cond in
// geometric progression and a Householder matrix H.
func conditioned(n int, cond float64) *mat.SymDense {
	v := make([]float64, n)
	rnd := rand.New(rand.NewPCG(5, 5))
	norm := 0.0
	for i := range v {
		v[i] = rnd.NormFloat64()
		norm += v[i] * v[i]
	}
	h := func(i, j int) float64 {
		d := 0.0
		if i == j {
			d = 1
		}
		return d - 2*v[i]*v[j]/norm
	}
	a := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s := 0.0
			for k := range n {
				s += h(i, k) * math.Pow(cond, -float64(k)/float64(n-1)) * h(k, j)
			}
			a.SetSym(i, j, s)
		}
	}
	return a
}

// TestSolveSPDFallback makes each of the reasons for a fall-back happen, and
// compares with the solution in float64.
func TestSolveSPDFallback(t *testing.T) {
	const n = 40
	plain := conditioned(n, 10)
	scaled := func(f float64) *mat.SymDense {
		a := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				a.SetSym(i, j, f*plain.At(i, j))
			}
		}
		return a
	}
	spot := func(i, j int, v float64) *mat.SymDense {
		a := scaled(1)
		a.SetSym(i, j, v)
		return a
	}
	ones := mat.NewDense(n, 2, nil)
	for i := range n {
		ones.Set(i, 0, 1)
		ones.Set(i, 1, float64(i))
	}
	for _, opt := range []la.Options{{Workers: 2, NB: 16, Direct: -1}, {Workers: 1}} {
		e := start(t, opt)
		for name, c := range map[string]struct {
			a    *mat.SymDense
			want la.Fallback
		}{
			"plain":             {plain, la.NoFallback},
			"large":             {scaled(1e30), la.NoFallback},
			"small":             {scaled(1e-30), la.NoFallback},
			"one too large":     {spot(17, 17, 1e39), la.OutOfRange},
			"all too large":     {scaled(1e200), la.OutOfRange},
			"all too small":     {scaled(1e-200), la.NotFactored},
			"not definite here": {conditioned(n, 1e12), la.NotFactored},
		} {
			var x, want mat.Dense
			report, err := la.SolveSPD(t.Context(), e, &x, c.a, ones)
			var cond mat.Condition
			if errors.As(err, &cond) { // of "one too large", which is 10³⁹
				err = nil
			}
			if err != nil || report.Fallback != c.want {
				t.Errorf("%s: %+v, %v; want fallback %v", name, report, err, c.want)
				continue
			}
			if !(report.BackwardError < 1e-14) {
				t.Errorf("%s: %+v", name, report)
			}
			if c.want == la.NoFallback {
				continue
			}
			chol := la.NewCholesky[float64](e)
			if err := chol.Factorize(c.a); err != nil {
				t.Fatal(err)
			}
			if err := chol.SolveTo(&want, ones); err != nil && !errors.As(err, &cond) {
				t.Fatal(err)
			}
			if !mat.EqualApprox(&x, &want, 1e-13*mat.Norm(&want, 2)) {
				t.Errorf("%s: not the solution in float64", name)
			}
		}
		// A right-hand side that is far below or above float32.
		for _, f := range []float64{1e-300, 1e-60, 1e60, 1e300, 0} {
			var b, x mat.Dense
			b.Scale(f, ones)
			report, err := la.SolveSPD(t.Context(), e, &x, plain, &b)
			if err != nil || report.Fallback != la.NoFallback || !(report.BackwardError < 1e-14) {
				t.Errorf("right-hand side times %g: %+v, %v", f, report, err)
			}
		}
		b := mat.DenseCopyOf(ones)
		b.Set(3, 1, math.Inf(1))
		var x mat.Dense
		report, err := la.SolveSPD(t.Context(), e, &x, plain, b)
		if err != nil || report.Fallback != la.OutOfRange || x.At(0, 1)-x.At(0, 1) == 0 {
			t.Errorf("infinite right-hand side: %+v, %v", report, err)
		}
	}
}

// TestSolveSPDHard takes matrices from one that refinement manages to one that float32 cannot factor.
func TestSolveSPDHard(t *testing.T) {
	e := start(t, la.Options{Workers: 1})
	seen := map[la.Fallback]bool{}
	for cond := 1e6; cond < 1e10; cond *= 1.6 {
		const n = 30
		var x mat.Dense
		b := mat.NewDense(n, 1, nil)
		b.Set(2, 0, 1)
		report, err := la.SolveSPD(t.Context(), e, &x, conditioned(n, cond), b)
		if err != nil || !(report.BackwardError < 1e-14) || report.Iterations > 30 {
			t.Fatalf("condition %g: %+v, %v", cond, report, err)
		}
		seen[report.Fallback] = true
	}
	if !seen[la.NoFallback] || !seen[la.NotFactored] {
		t.Errorf("fallbacks seen: %v", seen)
	}
}

// TestSolveGeneralNoConvergence takes a matrix that is well conditioned, but whose elements grow so in
// LU that in float32 nothing is left of them: refinement with such factors does not get there.
func TestSolveGeneralNoConvergence(t *testing.T) {
	const n = 40
	a, b := mat.NewDense(n, n, nil), mat.NewDense(n, 1, nil)
	for i := range n {
		for j := range i {
			a.Set(i, j, -0.9-0.001*float64((i*7+j*5)%11))
		}
		a.Set(i, i, 1)
		a.Set(i, n-1, 1)
		b.Set(i, 0, float64(i%7)-2.3)
	}
	e := start(t, la.Options{Workers: 1})
	var x, want mat.Dense
	report, err := la.SolveGeneral(t.Context(), e, &x, a, b)
	if err != nil || report.Fallback != la.NoConvergence || report.Iterations < 1 || report.Iterations > 30 {
		t.Fatalf("%+v, %v", report, err)
	}
	// Elements grow by some 1.9³⁹: that many digits of float64 are lost.
	_, err = la.Solve(t.Context(), e, &want, a, b)
	want.Sub(&want, &x)
	if d := mat.Norm(&want, 2) / mat.Norm(&x, 2); err != nil || !(d < 1e-5) {
		t.Errorf("differs by %g from the solution in float64 (%v)", d, err)
	}
}

func TestSolveSPDErrors(t *testing.T) {
	for name, e := range engines(t) {
		a, b := conditioned(9, 4), mat.NewDense(9, 2, nil)
		var shape *la.ShapeError
		if _, err := la.SolveSPD(t.Context(), e, mat.NewDense(9, 3, nil), a, b); !errors.As(err, &shape) {
			t.Errorf("%s: wrong dst: %v", name, err)
		}
		if _, err := la.SolveSPD(t.Context(), e, &mat.Dense{}, a, mat.NewDense(8, 2, nil)); !errors.As(err, &shape) {
			t.Errorf("%s: wrong b: %v", name, err)
		}
		bad := conditioned(9, 4)
		bad.SetSym(2, 5, math.NaN())
		x := mat.NewDense(9, 2, nil)
		x.Set(1, 1, 7)
		var nf *la.NonFiniteError
		if _, err := la.SolveSPD(t.Context(), e, x, bad, b); !errors.As(err, &nf) || nf.Row != 2 || nf.Col != 5 {
			t.Errorf("%s: NaN: %v", name, err)
		}
		bad = conditioned(9, 4)
		bad.SetSym(4, 4, -1)
		var npd *la.NotPositiveDefiniteError
		if _, err := la.SolveSPD(t.Context(), e, x, bad, b); !errors.As(err, &npd) || npd.Minor != 5 {
			t.Errorf("%s: not definite: %v", name, err)
		}
		if x.At(1, 1) != 7 || x.At(0, 0) != 0 {
			t.Errorf("%s: dst was written", name)
		}
		if r, err := la.SolveSPD(t.Context(), e, x, a, b); err != nil || r.Fallback != la.NoFallback || mat.Norm(x, 1) != 0 {
			t.Errorf("%s: of zeros: %+v, %v", name, r, err)
		}
		none := la.Symmetric[float64]{Uplo: blas.Upper, Stride: 1}
		if r, err := la.SolveSPD(t.Context(), e, la.General[float64]{Cols: 3, Stride: 3}, none, la.General[float64]{Cols: 3, Stride: 3}); err != nil || r != (la.Refinement{Fallback: la.NoFallback}) {
			t.Errorf("%s: of nothing: %+v, %v", name, r, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBroken)
	if _, err := la.SolveSPD(ctx, nil, &mat.Dense{}, conditioned(9, 4), mat.NewDense(9, 2, nil)); !errors.Is(err, errBroken) {
		t.Errorf("ended context: %v", err)
	}
}

// TestSolveSPDSources solves with one matrix in all forms, dst being b, and
// expects the same bits of all.
func TestSolveSPDSources(t *testing.T) {
	const n = 23
	e := start(t, la.Options{Workers: 2, NB: 6, Direct: -1, Deterministic: true})
	a := conditioned(n, 50)
	full := mat.NewDense(n, n, nil)
	full.Copy(a)
	tiled := func(kind blocked.Kind, nb int) *blocked.Matrix[float64] {
		m, _ := blocked.From[float64](full, kind, nb, blocked.CopyOptions{})
		return m
	}
	raw := func(uplo blas.Uplo) la.Symmetric[float64] {
		return la.Symmetric[float64]{Uplo: uplo, N: n, Stride: n, Data: full.RawMatrix().Data}
	}
	var want mat.Dense
	for i, src := range []la.SymmetricSource[float64]{
		a, raw(blas.Upper), raw(blas.Lower), hidden[float64]{general(raw(blas.Upper))},
		tiled(blocked.SymUpper, 6), tiled(blocked.SymLower, 6), tiled(blocked.SymLower, 9),
		tiled(blocked.Full, 6), tiled(blocked.TriLower, 6), tiled(blocked.TriUpper, 5),
	} {
		x := mat.NewDense(n, 4, nil)
		for j := range 4 {
			x.Set(j, j, 1)
		}
		report, err := la.SolveSPD(t.Context(), e, x, src, x)
		if err != nil || report.Fallback != la.NoFallback {
			t.Fatalf("source %d: %+v, %v", i, report, err)
		}
		if i == 0 {
			want.CloneFrom(x)
		} else if !mat.EqualApprox(x, &want, 1e-13) {
			t.Errorf("source %d: another solution", i)
		}
	}
	// dst may be A.
	square := mat.NewDense(n, n, nil)
	square.Copy(a)
	alias := la.Symmetric[float64]{Uplo: blas.Lower, N: n, Stride: n, Data: square.RawMatrix().Data}
	eye := mat.NewDense(n, n, nil)
	for i := range n {
		eye.Set(i, i, 1)
	}
	if _, err := la.SolveSPD(t.Context(), e, square, alias, eye); err != nil {
		t.Fatal(err)
	}
	var p mat.Dense
	p.Mul(a, square)
	if !mat.EqualApprox(&p, eye, 1e-12) {
		t.Error("dst = A: not the inverse")
	}
}

// TestSolveSPDDeterministic expects the same bits of any number of workers, and
// that the work was done in float32 but for the residuals.
func TestSolveSPDDeterministic(t *testing.T) {
	const n = 90
	a, b := conditioned(n, 100), mat.NewDense(n, 3, nil)
	for i := range n {
		b.Set(i, i%3, 1)
	}
	refinedAlike(t, "potrf/f64", func(e *la.Engine, x *mat.Dense) (la.Refinement, error) { return la.SolveSPD(t.Context(), e, x, a, b) })
}

// refinedAlike expects the same bits of a solver on any number of workers, and that its
// factorization was in float32: the given op and trsm were not called in float64.
func refinedAlike(t *testing.T, factor string, solve func(e *la.Engine, x *mat.Dense) (la.Refinement, error)) {
	t.Helper()
	var want mat.Dense
	for workers := 1; workers <= 4; workers++ {
		recorder := &trace.Recorder{}
		e := start(t, la.Options{Workers: workers, NB: 16, Direct: -1, Deterministic: true, Float: true, Trace: recorder})
		var x mat.Dense
		report, err := solve(e, &x)
		if err != nil || report.Fallback != la.NoFallback {
			t.Fatalf("%+v, %v", report, err)
		}
		for _, u := range recorder.Summary().Usage {
			if u.Op == factor || u.Op == "trsm/f64" {
				t.Errorf("%d calls of %s", u.Calls, u.Op)
			}
		}
		if workers == 1 {
			want.CloneFrom(&x)
		} else if !mat.Equal(&x, &want) {
			t.Errorf("%d workers: other bits", workers)
		}
	}
}

// TestSolveSPDCancel ends the context in the middle, in every kernel call: no
// goroutine is left, and dst is as it was.
func TestSolveSPDCancel(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var s saboteur
	table := s.table()
	const n = 25
	a, b := conditioned(n, 10), mat.NewDense(n, 2, nil)
	b.Set(0, 0, 1)
	e, err := la.NewEngine(la.Options{Workers: 2, NB: 8, Direct: -1, Deterministic: true, Float: true, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s.arm(0, nil)
	if _, err := la.SolveSPD(t.Context(), e, &mat.Dense{}, a, b); err != nil {
		t.Fatal(err)
	}
	total := int(s.calls.Load())
	for at := 1; at <= total; at++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		s.arm(at, func(c *versions.Call, run func(*versions.Call) error) error {
			cancel(errBroken)
			return run(c)
		})
		x := mat.NewDense(n, 2, nil)
		_, err := la.SolveSPD(ctx, e, x, a, b)
		if err == nil && at < total-1 || err != nil && (!errors.Is(err, errBroken) || mat.Norm(x, 1) != 0) {
			t.Errorf("call %d of %d: %v", at, total, err)
		}
		cancel(nil)
		s.arm(at, func(*versions.Call, func(*versions.Call) error) error { return errBroken })
		if _, err := la.SolveSPD(t.Context(), e, x, a, b); !errors.Is(err, errBroken) {
			t.Errorf("failure of call %d: %v", at, err)
		}
	}
}
