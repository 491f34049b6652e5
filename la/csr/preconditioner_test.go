package csr_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
	"gonum.org/v1/gonum/mat"
)

// preconditioners makes all kinds for a symmetric positive definite matrix.
var preconditioners = map[string]func(a *csr.Matrix) (krylov.Preconditioner, error){
	"Jacobi":   func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewJacobi(a) },
	"IC(0)":    func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewIC(a, csr.ICOptions{}) },
	"IC(2)":    func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewIC(a, csr.ICOptions{Levels: 2}) },
	"IC, drop": func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewIC(a, csr.ICOptions{Drop: 1e-2}) },
	"SSOR":     func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewSSOR(a, 1.2) },
	"ILU(0)":   func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewILU(a, csr.ILUOptions{}) },
	"ILU(1)":   func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewILU(a, csr.ILUOptions{Levels: 1}) },
	"blocks": func(a *csr.Matrix) (krylov.Preconditioner, error) {
		return csr.NewBlockJacobi(a, csr.BlockJacobiOptions{})
	},
	"large blocks": func(a *csr.Matrix) (krylov.Preconditioner, error) {
		return csr.NewBlockJacobi(a, csr.BlockJacobiOptions{Blocks: 3, Solver: func(b *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewIC(b, csr.ICOptions{}) }})
	},
	"IC, relaxed": func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewIC(a, csr.ICOptions{Relax: 0.95}) },
}

// positive is those that need a positive diagonal.
var positive = map[string]bool{"IC(0)": true, "IC(2)": true, "IC, drop": true, "IC, relaxed": true, "large blocks": true}

// dominant returns a sparse symmetric positive definite matrix whose rows have their columns in any order, and
// some of them in two parts.
func dominant(n int, seed uint64) *triples {
	rnd := rand.New(rand.NewPCG(seed, 5))
	t := &triples{n: n}
	sums := make([]float64, n)
	for range 3 * n {
		i, j := rnd.IntN(n), rnd.IntN(n)
		if v := rnd.NormFloat64(); i != j {
			t.both(i, j, v)
			sums[i], sums[j] = sums[i]+math.Abs(v), sums[j]+math.Abs(v)
		}
	}
	for i, s := range sums {
		t.add(i, i, s/4)
		t.add(i, i, 0.3+s*0.76)
	}
	return t
}

// TestPreconditioners: the solution is that of a factorization, after fewer iterations than without, and M is
// symmetric, positive definite, and the same on any number of workers, to the last bit.
func TestPreconditioners(t *testing.T) {
	for what, entries := range map[string]*triples{"1×1": poisson(1, 1, 1), "grid": poisson(25, 24, 1), "cube": poisson(9, 8, 7), "random": dominant(200, 3), "segments": poisson(300, 260, 1)} {
		n := entries.n
		u, v := vector(n, 1), vector(n, 2)
		before := map[string][]float64{}
		for _, workers := range []int{1, 3} {
			a := entries.matrix(t, start(t, workers))
			var p krylov.CGResult
			plain := make([]float64, n)
			if workers > 1 && n <= 1000 {
				var err error
				if p, err = krylov.CG(t.Context(), a, plain, u, krylov.CGOptions{Tolerance: 1e-12}); err != nil {
					t.Fatal(what, err)
				}
			}
			for name, make1 := range preconditioners {
				m, err := make1(a)
				if err != nil {
					t.Fatal(name, what, err)
				}
				x, y := make([]float64, n), make([]float64, n)
				if err := errors.Join(m.SolveVecTo(t.Context(), x, u), m.SolveVecTo(t.Context(), y, v)); err != nil {
					t.Fatal(name, what, err)
				}
				if d := dot(v, x) - dot(u, y); math.Abs(d) > 1e-12*norm(x)*norm(v) || !(dot(u, x) > 0) {
					t.Errorf("%s, %s: not symmetric and definite: %v, %v", name, what, d, dot(u, x))
				}
				if b := before[name]; b != nil && !slices.Equal(x, b) {
					t.Errorf("%s, %s: other bits than on one worker", name, what)
				}
				if before[name] = x; workers == 1 || n > 1000 {
					continue
				}
				z := make([]float64, n)
				r, err := krylov.CG(t.Context(), a, z, u, krylov.CGOptions{Tolerance: 1e-12, Preconditioner: m})
				if err != nil {
					t.Errorf("%s, %s: %v", name, what, err)
				}
				if !(r.Residual <= 1e-12*norm(u)) || distance(z, plain) > 1e-8*norm(plain) || r.Iterations > p.Iterations || r.Iterations == p.Iterations && n > 1 && name != "Jacobi" && name != "blocks" {
					t.Errorf("%s, %s: %+v, without %+v, differs by %v", name, what, r, p, distance(z, plain))
				}
			}
		}
	}
}

func dot(x, y []float64) float64 {
	return mat.Dot(mat.NewVecDense(len(x), x), mat.NewVecDense(len(y), y))
}

func norm(x []float64) float64 { return mat.Norm(mat.NewVecDense(len(x), x), 2) }

func distance(x, y []float64) float64 {
	d := slices.Clone(x)
	for i, v := range y {
		d[i] -= v
	}
	return norm(d)
}

// TestICOracle: M is the matrix that a dense elimination gives which leaves out the same elements.
func TestICOracle(t *testing.T) {
	for _, opt := range []csr.ICOptions{{}, {Levels: 1}, {Levels: 3}, {Levels: 100}, {Relax: 1}, {Relax: 0.5, Levels: 1}, {Drop: 0.05}, {Drop: 0.05, Levels: 1}, {Shift: 0.25}} {
		for _, entries := range []*triples{poisson(7, 6, 1), dominant(40, 1), dominant(60, 2)} {
			n := entries.n
			a := entries.matrix(t, start(t, 2))
			m, err := csr.NewIC(a, opt)
			if err != nil {
				t.Fatal(err)
			}
			want := incomplete(dense(entries), opt)
			for i := range n { // M·(M⁻¹·e) = e, where M is the oracle's
				e, x := make([]float64, n), make([]float64, n)
				e[i] = 1
				if err := m.SolveVecTo(t.Context(), x, e); err != nil {
					t.Fatal(err)
				}
				var back mat.VecDense
				back.MulVec(want, mat.NewVecDense(n, x))
				if d := distance(back.RawVector().Data, e); d > 1e-12 {
					t.Fatalf("%+v, order %d: column %d differs by %v", opt, n, i, d)
				}
			}
			if want := opt.Shift; m.Shift() != want {
				t.Errorf("%+v: shift %v", opt, m.Shift())
			}
		}
	}
}

func dense(t *triples) *mat.Dense {
	d := mat.NewDense(t.n, t.n, nil)
	for k, v := range t.v {
		d.Set(t.i[k], t.j[k], d.At(t.i[k], t.j[k])+v)
	}
	return d
}

// incomplete returns L·D·Lᵀ of an incomplete factorization, by elimination column by column.
func incomplete(a *mat.Dense, opt csr.ICOptions) *mat.Dense {
	n, _ := a.Dims()
	s, level, diag := mat.DenseCopyOf(a), mat.NewDense(n, n, nil), make([]float64, n)
	for i := range n {
		diag[i] = a.At(i, i)
		s.Set(i, i, diag[i]*(1+opt.Shift))
		for j := range n {
			if i != j && a.At(i, j) == 0 {
				level.Set(i, j, math.Inf(1))
			}
		}
	}
	most := float64(opt.Levels)
	if opt.Drop > 0 && opt.Levels == 0 {
		most = math.MaxFloat64
	}
	out := func(i, j int, v float64) { // leaves out an element and its mirror image
		s.Set(i, i, s.At(i, i)+opt.Relax*v)
		s.Set(j, j, s.At(j, j)+opt.Relax*v)
	}
	l := mat.NewDense(n, n, nil)
	for k := range n {
		for i := k + 1; i < n; i++ {
			if v := s.At(i, k); level.At(i, k) > most || opt.Drop > 0 && v*v <= opt.Drop*opt.Drop*diag[i]*diag[k] {
				out(i, k, v)
				s.Set(i, k, 0)
				level.Set(i, k, math.Inf(1))
			}
		}
		for i := k; i < n; i++ {
			l.Set(i, k, s.At(i, k)/s.At(k, k))
		}
		for i := k + 1; i < n; i++ {
			for j := k + 1; j <= i; j++ {
				if l.At(i, k) != 0 && l.At(j, k) != 0 {
					level.Set(i, j, min(level.At(i, j), level.At(i, k)+level.At(j, k)+1))
					s.Set(i, j, s.At(i, j)-l.At(i, k)*s.At(j, k))
				}
			}
		}
	}
	ld, m := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	for k := range n {
		for i := range n {
			ld.Set(i, k, l.At(i, k)*s.At(k, k))
		}
	}
	m.Mul(ld, l.T())
	return m
}

// TestICShift: Kershaw's matrix is positive definite, and IC(0) of it breaks down without a shift.
func TestICShift(t *testing.T) {
	k := &triples{n: 4}
	for i := range 4 {
		k.add(i, i, 3)
	}
	k.both(0, 1, -2)
	k.both(1, 2, -2)
	k.both(2, 3, -2)
	k.both(0, 3, 2)
	a := k.matrix(t, start(t, 1))
	m, err := csr.NewIC(a, csr.ICOptions{})
	if err != nil || !(m.Shift() > 0 && m.Shift() < 1) {
		t.Fatal(err)
	}
	x, b := make([]float64, 4), []float64{1, 2, 3, 4}
	if r, err := krylov.CG(t.Context(), a, x, b, krylov.CGOptions{Preconditioner: m}); err != nil || r.Iterations > 6 {
		t.Error(r, err)
	}
	if m, err := csr.NewIC(a, csr.ICOptions{Levels: 1}); err != nil || m.Shift() != 0 || m.Entries() != 4+2*5 {
		t.Error("with fill it does not break down:", err)
	}
}

// TestPreconditionerErrors: what has no preconditioner says why.
func TestPreconditionerErrors(t *testing.T) {
	rt := start(t, 1)
	of := func(n int, v ...float64) *csr.Matrix {
		m := &triples{n: n}
		for k, v := range v {
			m.add(k/n, k%n, v)
		}
		return m.matrix(t, rt)
	}
	wide, err := csr.FromCOO(rt, 2, 3, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, make1 := range preconditioners {
		var se *la.ShapeError
		if _, err := make1(wide); !errors.As(err, &se) {
			t.Errorf("%s of a wide matrix: %v", name, err)
		}
		var ne *la.NonFiniteError
		if _, err := make1(of(2, 1, 0, math.NaN(), 1)); !errors.As(err, &ne) || ne.Row != 1 || ne.Col != 0 {
			t.Errorf("%s of a NaN: %v", name, err)
		}
		var pe *csr.PivotError
		if _, err := make1(of(2, 1, 0, 0, 0)); !errors.As(err, &pe) || pe.Row != 1 || pe.Pivot != 0 {
			t.Errorf("%s of a zero: %v", name, err)
		}
		if _, err := make1(of(2, 1, 0, 0, -3)); positive[name] && (!errors.As(err, &pe) || pe.Row != 1 || pe.Pivot != -3) {
			t.Errorf("%s of a negative element: %v", name, err)
		}
		m, err := make1(of(2, 2, 1, 1, 2))
		if err != nil {
			t.Fatal(name, err)
		}
		x := make([]float64, 2)
		if err := m.SolveVecTo(t.Context(), x, make([]float64, 3)); !errors.As(err, &se) {
			t.Errorf("%s: %v", name, err)
		}
		if fault := panicOf(func() { m.SolveVecTo(t.Context(), x, x) }); fault != csr.ErrOverlap {
			t.Errorf("%s: %v", name, fault)
		}
		if _, err := krylov.CG(t.Context(), of(1, 1), x[:1], []float64{1}, krylov.CGOptions{Preconditioner: m}); !errors.As(err, &se) {
			t.Errorf("%s of another order: %v", name, err)
		}
		empty, err := make1(of(0))
		if err != nil || empty.SolveVecTo(t.Context(), nil, nil) != nil {
			t.Errorf("%s of order 0: %v", name, err)
		}
	}
	for _, opt := range []csr.ICOptions{{Levels: -1}, {Drop: -1}, {Drop: 1}, {Relax: 2}, {Relax: math.NaN()}, {Shift: math.Inf(1)}} {
		var oe *la.OptionsError
		if _, err := csr.NewIC(of(1, 1), opt); !errors.As(err, &oe) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
}

// TestVectorsInMemory: an iteration with the vectors of a Matrix has the bits of one with an operator that has
// none, also with long vectors, and so has one in blocks that a preconditioner does not know.
func TestVectorsInMemory(t *testing.T) {
	entries := poisson(230, 200, 1)
	n := entries.n
	b := vector(n, 1)
	for _, workers := range []int{1, 3} {
		a := entries.matrix(t, start(t, workers))
		m, err := csr.NewJacobi(a)
		if err != nil {
			t.Fatal(err)
		}
		d, err := csr.Scatter(t.Context(), start(t, workers), a, 3)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		for _, opt := range []krylov.CGOptions{{MaxIterations: 10}, {MaxIterations: 10, Preconditioner: m}} {
			var before []float64
			for _, op := range []krylov.Operator{a, plain{a}, d, a} {
				x := vector(n, 2)
				_, err := krylov.CG(t.Context(), op, x, b, opt)
				if _, ok := errors.AsType[*krylov.ConvergenceError](err); !ok {
					t.Fatal(err)
				}
				if before != nil && !slices.Equal(x, before) {
					t.Errorf("%T on %d workers, preconditioner %v: other bits", op, workers, opt.Preconditioner != nil)
				}
				before = x
			}
		}
	}
}

// plain is an operator without vectors of its own.
type plain struct{ a *csr.Matrix }

func (p plain) Dims() (m, n int) { return p.a.Dims() }

func (p plain) MulVecTo(ctx context.Context, dst []float64, trans bool, x []float64) error {
	return p.a.MulVecTo(ctx, dst, trans, x)
}
