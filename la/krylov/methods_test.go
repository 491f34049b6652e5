package krylov_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
	"gonum.org/v1/gonum/mat"
)

// settings are the options that all methods for a square A have.
type settings struct {
	tolerance float64
	most      int
	observe   func(int, float64)
	m         krylov.Preconditioner
}

// square is the methods for a square A.
var square = map[string]func(ctx context.Context, a krylov.Operator, x, b []float64, o settings) (int, float64, error){
	"CG": func(ctx context.Context, a krylov.Operator, x, b []float64, o settings) (int, float64, error) {
		r, err := krylov.CG(ctx, a, x, b, krylov.CGOptions{Tolerance: o.tolerance, MaxIterations: o.most, Observe: o.observe, Preconditioner: o.m})
		return r.Iterations, r.Residual, err
	},
	"GMRES": func(ctx context.Context, a krylov.Operator, x, b []float64, o settings) (int, float64, error) {
		r, err := krylov.GMRES(ctx, a, x, b, krylov.GMRESOptions{Tolerance: o.tolerance, MaxIterations: o.most, Observe: o.observe, Preconditioner: o.m})
		return r.Iterations, r.Residual, err
	},
	"GMRES(4)": func(ctx context.Context, a krylov.Operator, x, b []float64, o settings) (int, float64, error) {
		r, err := krylov.GMRES(ctx, a, x, b, krylov.GMRESOptions{Tolerance: o.tolerance, MaxIterations: o.most, Observe: o.observe, Preconditioner: o.m, Restart: 4})
		return r.Iterations, r.Residual, err
	},
	"BiCGSTAB": func(ctx context.Context, a krylov.Operator, x, b []float64, o settings) (int, float64, error) {
		r, err := krylov.BiCGSTAB(ctx, a, x, b, krylov.BiCGSTABOptions{Tolerance: o.tolerance, MaxIterations: o.most, Observe: o.observe, Preconditioner: o.m})
		return r.Iterations, r.Residual, err
	},
	"MINRES": func(ctx context.Context, a krylov.Operator, x, b []float64, o settings) (int, float64, error) {
		r, err := krylov.MINRES(ctx, a, x, b, krylov.MINRESOptions{Tolerance: o.tolerance, MaxIterations: o.most, Observe: o.observe, Preconditioner: o.m})
		if (err == nil) != (r.Stop != krylov.StopNone) {
			err = errors.Join(err, errors.New("stop "+r.Stop.String()))
		}
		return r.Iterations, r.Residual, err
	},
}

// shifted returns a − sigma·I.
func shifted(a *mat.Dense, sigma float64) *mat.Dense {
	n, _ := a.Dims()
	s := mat.DenseCopyOf(a)
	for i := range n {
		s.Set(i, i, s.At(i, i)-sigma)
	}
	return s
}

// dominated returns a matrix that is not symmetric, whose diagonal dominates.
func dominated(n int, seed uint64) *mat.Dense {
	return shifted(random(n, n, seed), -2*math.Sqrt(float64(n)))
}

// TestSquare: all methods have the solution of la.Solve for the matrices that they are for, with a preconditioner or
// without, and what they say of their residual is so.
func TestSquare(t *testing.T) {
	const definite1, symmetric, general = 1, 2, 3
	kinds := map[string]int{"CG": definite1, "MINRES": symmetric, "GMRES": general, "GMRES(4)": general, "BiCGSTAB": general}
	for what, c := range map[string]struct {
		a      *mat.Dense
		kind   int
		spread bool // eigenvalues on both sides of zero: not for a short restart
	}{
		"1×1": {mat.NewDense(1, 1, []float64{-3}), symmetric, false}, "2×2": {definite(2, 1), definite1, false},
		"definite": {chain(60), definite1, false}, "indefinite": {shifted(chain(40), 4.3), symmetric, true},
		"general": {dominated(50, 3), general, false}, "identity": {shifted(mat.NewDense(9, 9, nil), -1), definite1, false},
	} {
		n, _ := c.a.Dims()
		b := vector(n, 2)
		var want mat.VecDense
		if _, err := la.Solve(t.Context(), nil, &want, c.a, mat.NewVecDense(n, b)); err != nil {
			t.Fatal(err)
		}
		m := &inverse{Dense: mat.NewDense(n, n, nil)} // a diagonal that is definite
		for i := range n {
			m.Set(i, i, 1/(1+math.Abs(c.a.At(i, i))+float64(i%3)))
		}
		for name, solve := range square {
			if kinds[name] < c.kind || c.spread && name != "MINRES" && name != "GMRES" {
				continue
			}
			for _, o := range []settings{{tolerance: 1e-12}, {tolerance: 1e-12, m: m}} {
				if name == "GMRES" && c.spread {
					o.most = 2000
				}
				x, seen, last := vector(n, 4), 0, 0.0
				o.observe = func(k int, r float64) { seen, last = k, r }
				k, r, err := solve(t.Context(), &dense{Dense: c.a}, x, b, o)
				var d mat.VecDense
				d.MulVec(c.a, mat.NewVecDense(n, x))
				d.SubVec(mat.NewVecDense(n, b), &d)
				if nb := mat.Norm(mat.NewVecDense(n, b), 2); err != nil || far(x, want.RawVector().Data) > 1e-9 || math.Abs(mat.Norm(&d, 2)-r) > 1e-14*nb || r > 1e-12*nb || seen != k || last > 2e-12*nb || k == 0 {
					t.Errorf("%s, %s, preconditioner %v: %v, error %g, residual %g, said %g, after %d iterations (%d, %g)", name, what, o.m != nil, err, far(x, want.RawVector().Data), mat.Norm(&d, 2), r, k, seen, last)
				}
				if again, _, err := solve(t.Context(), &dense{Dense: c.a}, x, b, settings{tolerance: 1e-11, m: o.m}); err != nil || again != 0 {
					t.Errorf("%s, %s: from the solution: %v after %d", name, what, err, again)
				}
			}
		}
	}
}

// TestSquareFails: all methods say what is wrong with operands and options, and bear no NaN.
func TestSquareFails(t *testing.T) {
	const n = 20
	b := vector(n, 5)
	for name, solve := range square {
		one := func(a *mat.Dense, b []float64, o settings) (float64, error) {
			_, r, err := solve(t.Context(), &dense{Dense: a}, make([]float64, len(b)), b, o)
			return r, err
		}
		r, err := one(definite(n, 6), b, settings{most: 3})
		if e, ok := errors.AsType[*krylov.ConvergenceError](err); !ok || e.Iterations != 3 || e.Residual != r || !(e.Residual > e.Want) || e.Want <= 0 {
			t.Errorf("%s: %v", name, err)
		}
		for _, v := range []float64{math.NaN(), math.Inf(1)} {
			bad := definite(n, 6)
			bad.Set(3, 4, v)
			if _, err := one(bad, b, settings{}); !as[*krylov.NonFiniteError](err) {
				t.Errorf("%s: %v in A: %v", name, v, err)
			}
			if r, err := one(definite(2, 6), []float64{1, v}, settings{}); !as[*krylov.NonFiniteError](err) || !math.IsNaN(r) {
				t.Errorf("%s: %v in b: %v", name, v, err)
			}
			if _, err := one(definite(n, 6), b, settings{m: &inverse{Dense: bad}}); !as[*krylov.NonFiniteError](err) {
				t.Errorf("%s: %v in M: %v", name, v, err)
			}
		}
		for what, err := range map[string]error{
			"not square":         second(one(random(3, 2, 7), make([]float64, 3), settings{})),
			"b":                  second(one(random(3, 3, 7), make([]float64, 2), settings{})),
			"the preconditioner": second(one(random(3, 3, 7), make([]float64, 3), settings{m: &inverse{Dense: random(3, 4, 1)}})),
		} {
			if !as[*la.ShapeError](err) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		for _, o := range []settings{{tolerance: -1}, {tolerance: math.NaN()}, {most: -1}} {
			if _, err := one(definite(2, 6), make([]float64, 2), o); !as[*krylov.OptionsError](err) {
				t.Errorf("%s, %+v: %v", name, o, err)
			}
		}
		if r, err := one(definite(2, 6), make([]float64, 2), settings{}); r != 0 || err != nil {
			t.Errorf("%s, b = 0: %v, %v", name, r, err)
		}
		cause := errors.New("not today")
		if _, err := one(definite(n, 6), b, settings{m: &inverse{definite(n, 7), func() error { return cause }}}); err != cause {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := krylov.GMRES(t.Context(), &dense{Dense: definite(2, 6)}, make([]float64, 2), b[:2], krylov.GMRESOptions{Restart: -1, MaxIterations: -1})
	if e, ok := errors.AsType[*krylov.OptionsError](err); !ok || len(e.Problems) != 2 {
		t.Error(err)
	}
	s, err := krylov.MINRES(t.Context(), &dense{Dense: definite(2, 6)}, make([]float64, 2), b[:2], krylov.MINRESOptions{ATol: math.Inf(1)})
	if !as[*krylov.OptionsError](err) || s.Stop != krylov.StopNone {
		t.Error(err)
	}
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func second(_ float64, err error) error { return err }

// TestBreakdown: matrices on which the methods for general matrices come to nothing.
func TestBreakdown(t *testing.T) {
	skew := mat.NewDense(4, 4, []float64{0, 1, 0, 2, -1, 0, 3, 0, 0, -3, 0, 1, -2, 0, -1, 0})
	b := []float64{1, 2, 3, 4}
	_, err := krylov.BiCGSTAB(t.Context(), &dense{Dense: skew}, make([]float64, 4), b, krylov.BiCGSTABOptions{})
	if e, ok := errors.AsType[*krylov.BreakdownError](err); !ok || e.Iteration != 1 || e.Method != "BiCGSTAB" || !(e.Residual > 0) {
		t.Error(err)
	}
	x := make([]float64, 4)
	if r, err := krylov.GMRES(t.Context(), &dense{Dense: skew}, x, b, krylov.GMRESOptions{}); err != nil || r.Iterations > 4 {
		t.Error(r, err)
	}
	// The cyclic shift: no residual falls before the last iteration, and none with a restart.
	const n = 12
	shift, e := mat.NewDense(n, n, nil), make([]float64, n)
	for i := range n {
		shift.Set(i, (i+1)%n, 1)
	}
	e[0] = 1
	x = make([]float64, n)
	r, err := krylov.GMRES(t.Context(), &dense{Dense: shift}, x, e, krylov.GMRESOptions{})
	if err != nil || r.Iterations != n || x[1] != 1 {
		t.Error(r, err, x)
	}
	r, err = krylov.GMRES(t.Context(), &dense{Dense: shift}, make([]float64, n), e, krylov.GMRESOptions{Restart: n - 1})
	if !as[*krylov.ConvergenceError](err) || r.Residual != 1 {
		t.Error(r, err)
	}
	// A singular matrix: GMRES solves with a b in its range, and says that another is not.
	d := mat.NewDense(3, 3, []float64{2, 0, 0, 0, 3, 0, 0, 0, 0})
	x = make([]float64, 3)
	if r, err := krylov.GMRES(t.Context(), &dense{Dense: d}, x, []float64{2, 3, 0}, krylov.GMRESOptions{}); err != nil || far(x, []float64{1, 1, 0}) > 1e-14 {
		t.Error(r, err)
	}
	r, err = krylov.GMRES(t.Context(), &dense{Dense: d}, x, []float64{2, 3, 4}, krylov.GMRESOptions{})
	if be, ok := errors.AsType[*krylov.BreakdownError](err); !ok || be.Residual != r.Residual || math.Abs(r.Residual-4) > 1e-12 {
		t.Error(r, err)
	}
	zero := &dense{Dense: mat.NewDense(3, 3, nil)}
	for name, solve := range square {
		if _, _, err := solve(t.Context(), zero, make([]float64, 3), b[:3], settings{}); name != "MINRES" && !as[*krylov.BreakdownError](err) && !as[*krylov.IndefiniteError](err) {
			t.Errorf("%s of 0: %v", name, err)
		}
	}
}

// TestResidualAfterErrors: errors have the residual of the x that is left, also where rounding has driven the recurrence
// away from it.
func TestResidualAfterErrors(t *testing.T) {
	failed := 0
	for seed := range uint64(20) {
		const n = 12
		a := shifted(random(n, n, seed), 3)
		for i := 0; i < n; i += 5 {
			for j := range n {
				a.Set(j, i, a.At(j, (i+1)%n)) // singular
			}
		}
		b := vector(n, seed+100)
		for name, solve := range square {
			x := make([]float64, n)
			_, said, err := solve(t.Context(), &dense{Dense: a}, x, b, settings{})
			in := math.NaN()
			if e, ok := errors.AsType[*krylov.BreakdownError](err); ok {
				in = e.Residual
			} else if e, ok := errors.AsType[*krylov.ConvergenceError](err); ok {
				in = e.Residual
			} else {
				continue // a solution, or that the matrix is indefinite
			}
			failed++
			r := mat.NewVecDense(n, nil)
			r.MulVec(a, mat.NewVecDense(n, x))
			r.SubVec(mat.NewVecDense(n, b), r)
			is := mat.Norm(r, 2)
			if !(math.Abs(said-is) <= 1e-9*is && said == in) {
				t.Errorf("%s, seed %d: residual %v, in the error %v, want %v: %v", name, seed, said, in, is, err)
			}
		}
	}
	if failed == 0 {
		t.Error("no system has failed")
	}
}

// TestMINRES: of a singular matrix MINRES has a least-squares solution, and its estimates are those of the matrix.
func TestMINRES(t *testing.T) {
	const n = 30
	q := mat.NewDense(n, n, nil)
	var qr mat.QR
	qr.Factorize(random(n, n, 1))
	qr.QTo(q)
	spectrum := func(value func(i int) float64) *mat.Dense {
		d, a := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
		for i := range n {
			d.Set(i, i, value(i))
		}
		a.Product(q, d, q.T())
		for i := range n {
			for j := range i {
				a.Set(i, j, a.At(j, i))
			}
		}
		return a
	}
	singular := spectrum(func(i int) float64 {
		if i < 2 {
			return 0
		}
		return float64(i) - 10.5
	})
	b := vector(n, 2)
	want := leastSquares(t, singular, b, 0)
	x := make([]float64, n)
	s, err := krylov.MINRES(t.Context(), &dense{Dense: singular}, x, b, krylov.MINRESOptions{})
	if err != nil || s.Stop != krylov.StopLeastSquares || s.Gradient > 1e-8 || s.Iterations > n {
		t.Errorf("%+v, %v", s, err)
	}
	var r, w mat.VecDense
	r.MulVec(singular, mat.NewVecDense(n, x))
	w.MulVec(singular, mat.NewVecDense(n, want))
	if far(r.RawVector().Data, w.RawVector().Data) > 1e-9 {
		t.Error("the residual is not minimal")
	}
	// A b in the range: the solution of least norm, as x = 0 at the beginning.
	copy(b, w.RawVector().Data)
	clear(x)
	if s, err := krylov.MINRES(t.Context(), &dense{Dense: singular}, x, b, krylov.MINRESOptions{Tolerance: 1e-12}); err != nil || s.Stop != krylov.StopConsistent || far(x, want) > 1e-9 {
		t.Errorf("%+v, %v, %v", s, err, far(x, want))
	}
	regular := spectrum(func(i int) float64 { return float64(1+i) * float64(1-2*(i%2)) })
	clear(x)
	s, err = krylov.MINRES(t.Context(), &dense{Dense: regular}, x, vector(n, 3), krylov.MINRESOptions{Tolerance: 1e-13})
	if err != nil || s.Condition > n*1.01 || s.Condition < n/6 || math.Abs(s.NormA-mat.Norm(regular, 2)) > mat.Norm(regular, 2)/4 {
		t.Errorf("%+v, %v, norm %v", s, err, mat.Norm(regular, 2))
	}
	// The residual of a preconditioned iteration is that of A, in all iterations.
	m := &inverse{Dense: mat.NewDense(n, n, nil)}
	for i := range n {
		m.Set(i, i, 1/float64(3+i%5))
	}
	for most := 1; most < 12; most++ {
		x, b := make([]float64, n), vector(n, 3)
		s, _ := krylov.MINRES(t.Context(), &dense{Dense: regular}, x, b, krylov.MINRESOptions{MaxIterations: most, Preconditioner: m})
		r.MulVec(regular, mat.NewVecDense(n, x))
		r.SubVec(mat.NewVecDense(n, b), &r)
		if d := mat.Norm(&r, 2) - s.Residual; math.Abs(d) > 1e-12*s.Residual {
			t.Errorf("after %d iterations the residual is wrong by %g of %g", most, d, s.Residual)
		}
	}
	negative := mat.DenseCopyOf(m.Dense)
	negative.Scale(-1, negative)
	_, err = krylov.MINRES(t.Context(), &dense{Dense: regular}, x, b, krylov.MINRESOptions{Preconditioner: &inverse{Dense: negative}})
	if e, ok := errors.AsType[*krylov.IndefiniteError](err); !ok || !e.Preconditioner || !(e.Curvature < 0) || e.Method != "MINRES" {
		t.Error(err)
	}
}

// TestMethodsOnBlocks: on blocks of a matrix, and with a matrix that has vectors of its own, all methods have the bits of those
// with slices.
func TestMethodsOnBlocks(t *testing.T) {
	rt := local(t, 3)
	a := sparseOf(t, rt, chain(300), 0)
	d, err := csr.Scatter(t.Context(), rt, a, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	m, err := csr.NewIC(a, csr.ICOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := vector(300, 1)
	for name, solve := range square {
		for _, m := range []krylov.Preconditioner{nil, m} {
			var before []float64
			for _, op := range []krylov.Operator{a, d, hidden{a}} {
				x := vector(300, 2)
				if _, _, err := solve(t.Context(), op, x, b, settings{m: m}); err != nil {
					t.Errorf("%s on %T: %v", name, op, err)
				}
				if before != nil && !slices.Equal(x, before) {
					t.Errorf("%s on %T, preconditioner %v: other bits", name, op, m != nil)
				}
				before = x
			}
		}
	}
}

func local(t *testing.T, workers int) exec.Runtime {
	t.Helper()
	rt, err := exec.NewLocal(exec.Options{Workers: workers, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt
}

// hidden is an operator without vectors of its own.
type hidden struct{ a *csr.Matrix }

func (h hidden) Dims() (m, n int) { return h.a.Dims() }

func (h hidden) MulVecTo(ctx context.Context, dst []float64, trans bool, x []float64) error {
	return h.a.MulVecTo(ctx, dst, trans, x)
}

// TestFunc: a function is an operator, with its transpose or without.
func TestFunc(t *testing.T) {
	d := random(9, 5, 1)
	f := krylov.Func{M: 9, N: 5, Mul: func(_ context.Context, dst, x []float64) error {
		mat.NewVecDense(9, dst).MulVec(d, mat.NewVecDense(5, x))
		return nil
	}}
	x, b := make([]float64, 5), vector(9, 2)
	if _, err := krylov.LSQR(t.Context(), f, x, b, krylov.LSQROptions{}); err != krylov.ErrNoTranspose {
		t.Error(err)
	}
	f.MulTrans = func(_ context.Context, dst, x []float64) error {
		mat.NewVecDense(5, dst).MulVec(d.T(), mat.NewVecDense(9, x))
		return nil
	}
	if _, err := krylov.LSQR(t.Context(), f, x, b, krylov.LSQROptions{}); err != nil || far(x, leastSquares(t, d, b, 0)) > 1e-8 {
		t.Error(err)
	}
}
