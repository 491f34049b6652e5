package la_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// steady returns a matrix that every pivoting can factor.
func steady(t *testing.T, n int) la.General[float64] {
	a := rectangle[float64](t, matgen.Spec{M: n, N: n}, 1)
	for i := range n {
		a.Set(i, i, a.At(i, i)+2)
	}
	return a
}

// TestLUFaults has a version fail, or panic, at every place of a factorization.
func TestLUFaults(t *testing.T) {
	var s saboteur
	const n = 22
	a := steady(t, n)
	before := clone(a)
	for name, opt := range map[string]la.Options{
		"tiles":  {Workers: 3, NB: 4, Direct: -1, Deterministic: true, Float: true},
		"direct": {Workers: 1, Deterministic: true},
	} {
		opt.Table = s.table()
		e := start(t, opt)
		for pivoting, f := range lus[float64](t, e) {
			s.everywhere(t, name+", "+pivoting, faults(), f, func() error { return f.Factorize(a) }, func(what string) { unchanged(t, what, a, before, nil) })
			small(t, luResidual(f, load[float64](a, blas.NoTrans)), 30, "%s, %s", name, pivoting)
		}
	}
}

// TestLUFaultsElsewhere has a version fail in what is done with a factorization.
func TestLUFaultsElsewhere(t *testing.T) {
	var s saboteur
	for name, opt := range map[string]la.Options{
		"tiles":  {Workers: 2, NB: 5, Direct: -1, Deterministic: true},
		"direct": {Workers: 1, Deterministic: true},
	} {
		opt.Table = s.table()
		e := start(t, opt)
		s.arm(0, nil)
		f, _ := luOf[float64](t, e, matgen.Spec{N: 12})
		b := rectangle[float64](t, matgen.Spec{M: 12, N: 3}, 0)
		b0 := clone(b)
		for call, g := range map[string]func() error{
			"SolveTo":             func() error { return f.SolveTo(b, false, b) },
			"SolveTo, transposed": func() error { return f.SolveTo(b, true, b) },
			"SolveVecTo":          func() error { return f.SolveVecTo(make(la.Vector[float64], 12), true, make(la.Vector[float64], 12)) },
			"InverseTo":           func() error { return f.InverseTo(padded[float64](12, 12, 0)) },
		} {
			s.arm(0, nil)
			undo := clone(b)
			if err := g(); err != nil {
				t.Fatal(err)
			}
			copy(b.Data, undo.Data)
			total := int(s.calls.Load())
			for at := 1; at <= total; at++ {
				s.arm(at, func(*versions.Call, func(*versions.Call) error) error { return errBroken })
				var task *exec.TaskError
				if err := g(); !errors.As(err, &task) || !errors.Is(err, errBroken) {
					t.Errorf("%s: %s, call %d: %v", name, call, at, err)
				}
				unchanged(t, call, b, b0, nil)
			}
		}
		s.arm(1, func(*versions.Call, func(*versions.Call) error) error { return errBroken })
		if cond := f.Cond(); !(cond >= 1) { // an estimate is no task
			t.Errorf("%s: condition %v", name, cond)
		}
	}
}

// TestLUCancel ends the context in the middle of a factorization, from inside of
// its tasks.
func TestLUCancel(t *testing.T) {
	var s saboteur
	const n = 42
	a := steady(t, n)
	before := clone(a)
	for _, opt := range []la.Options{{Workers: 1, NB: 5, Direct: -1}, {Workers: 3, NB: 5, Direct: -1, Float: true, Window: 4}} {
		opt.Deterministic, opt.Table = true, s.table()
		e := start(t, opt)
		for pivoting, f := range lus[float64](t, e) {
			s.cancelled(t, pivoting, 330, 11, f, func(ctx context.Context) error { return f.Factorize(a, la.WithContext(ctx)) }, func(what string) {
				small(t, luResidual(f, load[float64](a, blas.NoTrans)), 30, "%s", what)
			}, func(what string) { unchanged(t, what, a, before, nil) })
		}
	}
	// Before it has begun, and while it falls back.
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBroken)
	if err := la.NewLU[float64](nil).Factorize(a, la.WithContext(ctx)); err != errBroken {
		t.Errorf("%v, want the cause", err)
	}
	e := start(t, la.Options{Workers: 2, NB: 5, Direct: -1, Deterministic: true, Table: s.table()})
	f, _ := la.NewLUWith[float64](e, la.LUOptions{Pivoting: la.TilePivoting, OnBreakdown: la.FallBack})
	ctx, cancel = context.WithCancelCause(t.Context())
	defer cancel(nil)
	s.arm(430, func(call *versions.Call, run func(*versions.Call) error) error {
		cancel(errBroken)
		<-call.Ctx.Done()
		return run(call)
	})
	zero := clone(a)
	zero.Set(0, 0, 0)
	for i := range 5 {
		zero.Set(i, 0, 0)
	}
	if err := f.Factorize(zero, la.WithContext(ctx)); err != errBroken || !f.IsEmpty() {
		t.Errorf("falling back: %v, want the cause", err)
	}
}

// TestLULateNaN has a version put a NaN into a result: tile and tournament
// pivoting see it and fall back to what is sound.
func TestLULateNaN(t *testing.T) {
	var s saboteur
	e := start(t, la.Options{Workers: 3, NB: 2, Direct: -1, Deterministic: true, Table: s.table(), Float: true})
	a := steady(t, 22)
	for _, p := range []la.Pivoting{la.TournamentPivoting, la.TilePivoting} {
		f, _ := la.NewLUWith[float64](e, la.LUOptions{Pivoting: p, OnBreakdown: la.FallBack})
		fell := 0
		for at := 1; at <= 300; at += 7 {
			s.arm(at, func(call *versions.Call, run func(*versions.Call) error) error {
				err := run(call)
				if tile, ok := call.Args[len(call.Args)-1].(*kernels.Tile[float64]); ok {
					nan := 0.0
					tile.Set(0, 0, nan/nan)
				}
				return err
			})
			if err := f.Factorize(a); err != nil {
				t.Errorf("%v, call %d: %v", p, at, err)
				continue
			}
			if f.Pivoting() != p {
				fell++
			}
			small(t, luResidual(f, load[float64](a, blas.NoTrans)), 30, "%v, call %d", p, at)
		}
		if fell < 20 {
			t.Errorf("%v: fell back %d times", p, fell)
		}
	}
}
