package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// saboteur wraps the versions of a table: each call of one is counted, and
// the one whose number is armed does something else.
type saboteur struct {
	calls atomic.Int64
	armed atomic.Int64
	act   fault
}

// table returns a table whose preferred versions, called "fragile", are the
// portable ones under the eyes of s.
func (s *saboteur) table() *kernels.Table {
	tab := op.NewTable()
	for _, op := range tab.All() {
		portable := op.Version("go")
		if portable == nil {
			continue // an op that copies, which has one version
		}
		run := portable.Run
		tab.Add(op, versions.Version{Name: "fragile", Run: func(call *versions.Call) error {
			if n := s.calls.Add(1); n == s.armed.Load() {
				return s.act(call, run)
			}
			return run(call)
		}})
	}
	return tab
}

// arm makes the nth call from now on act.
func (s *saboteur) arm(n int, act fault) {
	s.act = act
	s.calls.Store(0)
	s.armed.Store(int64(n))
}

var errBroken = errors.New("broken")

// fault is what an armed call does.
type fault = func(call *versions.Call, run func(*versions.Call) error) error

// faults returns ways to fail with errBroken.
func faults() map[string]fault {
	return map[string]fault{
		"error":      func(*versions.Call, func(*versions.Call) error) error { return errBroken },
		"panic":      func(*versions.Call, func(*versions.Call) error) error { panic(errBroken) },
		"late error": func(c *versions.Call, run func(*versions.Call) error) error { run(c); return errBroken },
	}
}

// everywhere has each call of a factorization fail in each way. The error says where, f has no
// factorization, and intact looks at the matrix. Afterwards the engine works as before.
func (s *saboteur) everywhere(t *testing.T, name string, ways map[string]fault, f interface{ IsEmpty() bool }, factorize func() error, intact func(what string)) {
	t.Helper()
	s.arm(0, nil)
	if err := factorize(); err != nil {
		t.Fatal(err)
	}
	total := int(s.calls.Load())
	for at := 1; at <= total; at++ {
		for way, act := range ways {
			what := fmt.Sprintf("%s, %s in call %d of %d", name, way, at, total)
			s.arm(at, act)
			err := factorize()
			var task *exec.TaskError
			if !errors.As(err, &task) || task.Version != "fragile" || !strings.HasSuffix(task.Op, "/f64") {
				t.Fatalf("%s: %v, want a TaskError", what, err)
			}
			if !strings.Contains(err.Error(), "fragile") || !strings.Contains(err.Error(), task.Op) {
				t.Errorf("%s: %v names neither op nor version", what, err)
			}
			var p *exec.PanicError
			if got, want := errors.As(err, &p), strings.Contains(way, "panic"); got != want {
				t.Errorf("%s: panic error is %v", what, got)
			}
			if way != "other panic" && !errors.Is(err, errBroken) {
				t.Errorf("%s: %v does not wrap the cause", what, err)
			}
			if !f.IsEmpty() {
				t.Errorf("%s: a factorization", what)
			}
			intact(what)
		}
	}
	s.arm(0, nil)
	if err := factorize(); err != nil {
		t.Fatalf("%s: the engine is out of order: %v", name, err)
	}
}

// cancelled ends the context of a factorization from inside of its calls, of every step-th up to
// the last. It is then cut short, without a result, or right. Afterwards the engine works as before.
func (s *saboteur) cancelled(t *testing.T, name string, last, step int, f interface{ IsEmpty() bool }, factorize func(context.Context) error, right, intact func(what string)) {
	t.Helper()
	cut := 0
	for at := 1; at <= last; at += step {
		what := fmt.Sprintf("%s, cancelled in call %d", name, at)
		ctx, cancel := context.WithCancelCause(t.Context())
		s.arm(at, func(call *versions.Call, run func(*versions.Call) error) error {
			cancel(errBroken)
			<-call.Ctx.Done()
			return run(call)
		})
		err := factorize(ctx)
		switch {
		case err == nil: // all else was done before the end of the context was heard of
			right(what)
		case err != errBroken:
			t.Fatalf("%s: %v, want the cause", what, err)
		case !f.IsEmpty():
			t.Fatalf("%s: a factorization", what)
		default:
			cut++
		}
		intact(what)
		cancel(nil)
	}
	if cut < 5 {
		t.Errorf("%s: %d factorizations were cut short", name, cut)
	}
	s.arm(0, nil)
	if err := factorize(t.Context()); err != nil {
		t.Fatal(err)
	}
	right(name + ", after all that")
}

// TestFaults has a version fail, or panic, at every place of a factorization.
func TestFaults(t *testing.T) {
	var s saboteur
	const n = 22
	a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Upper, 1)
	before := clone(general(a))
	for name, opt := range map[string]la.Options{
		"tiles":    {Workers: 3, NB: 5, Direct: -1, Deterministic: true, Float: true},
		"profiled": {Workers: 2, NB: 5, Direct: -1, Only: []string{"fragile"}},
		"direct":   {Workers: 1, Deterministic: true},
	} {
		opt.Table = s.table()
		e := start(t, opt)
		c := la.NewCholesky[float64](e)
		ways := faults()
		ways["wrapped"] = func(*versions.Call, func(*versions.Call) error) error { return fmt.Errorf("more: %w", errBroken) }
		ways["other panic"] = func(*versions.Call, func(*versions.Call) error) error { panic("broken") }
		s.everywhere(t, name, ways, c, func() error { return c.Factorize(a) }, func(what string) { unchanged(t, what, general(a), before, nil) })
		small(t, choleskyResidual[float64](factor(t, c), load[float64](a, blas.NoTrans)), 30, "%s", name)
	}
}

// TestFaultsElsewhere has a version fail in every other call of la.
func TestFaultsElsewhere(t *testing.T) {
	var s saboteur
	for name, opt := range map[string]la.Options{
		"tiles":  {Workers: 2, NB: 5, Direct: -1, Deterministic: true},
		"direct": {Workers: 1, Deterministic: true},
	} {
		opt.Table = s.table()
		e := start(t, opt)
		s.arm(0, nil)
		c, _ := factored[float32](t, e, matgen.Spec{Kind: matgen.SPD, N: 12})
		a := random[float32](rand.New(rand.NewPCG(9, 1)), 12, 12, 0)
		b := clone(a)
		tri := la.Triangular[float32]{Uplo: blas.Lower, Diag: blas.NonUnit, N: 12, Data: a.Data, Stride: a.Stride}
		sym := la.Symmetric[float32]{Uplo: blas.Lower, N: 12, Data: b.Data, Stride: b.Stride}
		for call, f := range map[string]func() error{
			"gemm/f32":  func() error { return la.Gemm(t.Context(), e, blas.NoTrans, blas.NoTrans, 1, a, a, 0, b) },
			"syrk/f32":  func() error { return la.Syrk(t.Context(), e, blas.NoTrans, 1, a, 0, sym) },
			"trsm/f32":  func() error { return la.Trsm(t.Context(), e, blas.Left, blas.NoTrans, 1, tri, b) },
			"trsm/f32 ": func() error { return c.SolveTo(b, a) },
			" trsm/f32": func() error { return c.InverseTo(sym) },
		} {
			s.arm(1, func(*versions.Call, func(*versions.Call) error) error { panic("broken") })
			err := f()
			var task *exec.TaskError
			// Two workers may begin with a tile beside syrk's diagonal.
			if !errors.As(err, &task) || task.Op != strings.TrimSpace(call) && !(call == "syrk/f32" && task.Op == "gemm/f32") {
				t.Errorf("%s: %s: %v", name, call, err)
			}
			s.arm(0, nil)
			if err := f(); err != nil {
				t.Errorf("%s: %s, again: %v", name, call, err)
			}
		}
		s.arm(1, func(*versions.Call, func(*versions.Call) error) error { return errBroken })
		if cond := c.Cond(); !(cond >= 1) { // an estimate is no task
			t.Errorf("%s: condition %v", name, cond)
		}
	}
}

// TestFaultNaN has a version put a NaN into a result somewhere: it is noticed
// at the next diagonal element that it reaches, or by a look at L.
func TestFaultNaN(t *testing.T) {
	var s saboteur
	e := start(t, la.Options{Workers: 3, NB: 5, Direct: -1, Deterministic: true, Table: s.table(), Float: true})
	const n = 22
	a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Upper, 0)
	noticed := 0
	for at := 1; at <= 35; at++ {
		c := la.NewCholesky[float64](e)
		s.arm(at, func(call *versions.Call, run func(*versions.Call) error) error {
			err := run(call)
			tile := call.Args[len(call.Args)-1].(*kernels.Tile[float64])
			for i := range min(tile.Rows, tile.Cols) {
				tile.Set(i, i, math.NaN())
			}
			return err
		})
		err := c.Factorize(a)
		var npd *la.NotPositiveDefiniteError
		switch {
		case errors.As(err, &npd) && npd.Minor >= 1 && npd.Minor <= n:
			noticed++
		case err != nil:
			t.Errorf("call %d: %v", at, err)
		case c.LogDet() == c.LogDet():
			t.Errorf("call %d: neither an error nor a NaN in the factor", at)
		}
	}
	if noticed < 25 {
		t.Errorf("%d of 35 noticed", noticed)
	}
	s.arm(0, nil)
	if err := la.NewCholesky[float64](e).Factorize(a); err != nil {
		t.Fatal(err)
	}
}

// TestCancel ends the context in the middle of a factorization, from inside
// of each of its tasks.
func TestCancel(t *testing.T) {
	var s saboteur
	const n = 42
	a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Lower, 1)
	before := clone(general(a))
	for _, opt := range []la.Options{{Workers: 1, NB: 5, Direct: -1}, {Workers: 3, NB: 5, Direct: -1, Float: true, Window: 4}} {
		opt.Deterministic, opt.Table = true, s.table()
		e := start(t, opt)
		c := la.NewCholesky[float64](e)
		s.cancelled(t, "Cholesky", 165, 4, c, func(ctx context.Context) error { return c.Factorize(a, la.WithContext(ctx)) }, func(what string) {
			small(t, choleskyResidual[float64](factor(t, c), load[float64](a, blas.NoTrans)), 30, "%s", what)
		}, func(what string) { unchanged(t, what, general(a), before, nil) })
	}
}

// TestFaultyVersionIsGivenUp lets the engine learn that a version always
// fails: after a few errors it does without it.
func TestFaultyVersionIsGivenUp(t *testing.T) {
	for name, opt := range map[string]la.Options{
		"tiles":  {Workers: 1, NB: 16, Direct: -1},
		"direct": {Workers: 1},
	} {
		tab := op.NewTable()
		tab.Add(kernels.For[float64](tab).Op("gemm"), versions.Version{Name: "broken", Run: func(*versions.Call) error { panic("always") }})
		opt.Table, opt.Only = tab, []string{"broken", "go"}
		e := start(t, opt)
		a := random[float64](rand.New(rand.NewPCG(9, 3)), 16, 16, 0)
		failures := 0
		for range 50 {
			err := la.Gemm(t.Context(), e, blas.NoTrans, blas.NoTrans, 1, a, a, 0, padded[float64](16, 16, 0))
			var task *exec.TaskError
			switch {
			case err == nil:
			case errors.As(err, &task) && task.Version == "broken":
				failures++
			default:
				t.Fatalf("%s: %v", name, err)
			}
		}
		if failures == 0 || failures > 10 {
			t.Errorf("%s: %d of 50 calls failed", name, failures)
		}
	}
}
