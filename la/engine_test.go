package la_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// TestOptions checks that everything that is wrong is reported at once.
func TestOptions(t *testing.T) {
	_, err := la.NewEngine(la.Options{Workers: -1, NB: 1 << 20, Direct: -2, Policy: 99, Window: -1})
	var bad *la.OptionsError
	if !errors.As(err, &bad) || len(bad.Problems) != 5 {
		t.Errorf("%v, want five problems", err)
	}
	for _, word := range []string{"Workers", "NB", "Direct", "Policy", "Window"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not mention %s", err, word)
		}
	}
	if _, err := la.NewEngine(la.Options{Workers: 1 << 20}); !errors.As(err, &bad) {
		t.Errorf("a million workers: %v", err)
	}
	var unknown *versions.UnknownNameError
	if _, err := la.NewEngine(la.Options{Only: []string{"abacus"}}); !errors.As(err, &unknown) || unknown.Name != "abacus" {
		t.Errorf("a version that is none: %v", err)
	}
	var config *versions.ConfigError
	if _, err := la.NewEngine(la.Options{Only: []string{"go"}, Exclude: []string{"go"}}); !errors.As(err, &config) {
		t.Errorf("only what is excluded: %v", err)
	}
	table := op.NewTable()
	for _, op := range table.All() {
		op.Versions = op.Versions[len(op.Versions)-1:] // portable Go
	}
	var none *versions.NoVersionError
	if _, err := la.NewEngine(la.Options{Table: table, Exclude: []string{"go"}}); !errors.As(err, &none) {
		t.Errorf("nothing left: %v", err)
	}
}

// TestClosed checks that a closed engine computes nothing, however small.
func TestClosed(t *testing.T) {
	e, err := la.NewEngine(la.Options{Workers: 2, NB: 8})
	if err != nil {
		t.Fatal(err)
	}
	small, _ := factored[float64](t, e, matgen.Spec{Kind: matgen.SPD, N: 4})
	large, _ := factored[float64](t, e, matgen.Spec{Kind: matgen.SPD, N: 200})
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []*la.Cholesky[float64]{small, large} {
		n := c.SymmetricDim()
		a := mat.NewDense(n, n, nil)
		var tri mat.TriDense
		c.LTo(&tri) // a copy needs no worker
		for name, err := range map[string]error{
			"Gemm":       la.Gemm[float64](t.Context(), e, blas.NoTrans, blas.NoTrans, 1, a, a, 0, &mat.Dense{}),
			"Syrk":       la.Syrk[float64](t.Context(), e, blas.NoTrans, 1, a, 0, &mat.SymDense{}),
			"Trsm":       la.Trsm[float64](t.Context(), e, blas.Left, blas.NoTrans, 1, &tri, a),
			"SolveTo":    c.SolveTo(&mat.Dense{}, a),
			"SolveVecTo": c.SolveVecTo(&mat.VecDense{}, mat.NewVecDense(n, nil)),
			"InverseTo":  c.InverseTo(&mat.SymDense{}),
			"Factorize":  la.NewCholesky[float64](e).Factorize(mat.NewSymDense(n, nil)),
		} {
			if err != exec.ErrClosed {
				t.Errorf("n %d: %s: %v, want exec.ErrClosed", n, name, err)
			}
		}
		if cond := c.Cond(); cond == cond {
			t.Errorf("n %d: condition %v, want NaN", n, cond)
		}
	}
	var none *la.Engine
	if none.Close() != nil || none.Workers() != nil {
		t.Error("a nil engine has workers")
	}
}

// TestCloseDuring closes an engine while it computes.
func TestCloseDuring(t *testing.T) {
	a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: 120}, blas.Upper, 0)
	for round := range 20 {
		e, err := la.NewEngine(la.Options{Workers: 2, NB: 8, Direct: -1, Float: true})
		if err != nil {
			t.Fatal(err)
		}
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				for {
					err := la.NewCholesky[float64](e).Factorize(a)
					if err == exec.ErrClosed {
						return
					}
					if err != nil {
						t.Errorf("round %d: %v", round, err)
						return
					}
				}
			})
		}
		e.Close()
		calls.Wait()
	}
}

// watcher is a Progress callback that checks what it is told.
type watcher struct {
	t       *testing.T
	busy    atomic.Bool
	mu      sync.Mutex
	done    int
	total   int
	reports int
}

func (w *watcher) report(done, total int) {
	if w.busy.Swap(true) {
		w.t.Error("two reports at once")
	}
	w.mu.Lock()
	if w.reports > 0 && (done < w.done || total < w.total) {
		w.t.Errorf("progress %d of %d after %d of %d", done, total, w.done, w.total)
	}
	w.done, w.total = done, total
	w.reports++
	w.mu.Unlock()
	w.busy.Store(false)
}

// take returns the last report and forgets all.
func (w *watcher) take() (done, total, reports int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	done, total, reports = w.done, w.total, w.reports
	w.done, w.total, w.reports = 0, 0, 0
	return done, total, reports
}

// TestProgress checks that the total comes to the number of tasks that are run, for
// every algorithm and in every special case, and that it is reached.
func TestProgress(t *testing.T) {
	w, recorder := &watcher{t: t}, &trace.Recorder{}
	e := start(t, la.Options{Workers: 2, NB: 4, Direct: -1, Progress: w.report, Trace: recorder})
	a, wide := random[float64](rand.New(rand.NewPCG(7, 1)), 10, 10, 0), mat.NewDense(10, 22, nil)
	sq := func() *mat.Dense { return mat.NewDense(10, 10, nil) }
	none := la.General[float64]{Rows: 10, Stride: 1}
	none2 := la.General[float64]{Cols: 10, Stride: 10}
	sym := mat.NewSymDense(10, nil)
	tri := triangle[float64](rand.New(rand.NewPCG(7, 2)), blas.Lower, blas.NonUnit, 10, 0)
	chol, _ := factored[float64](t, e, matgen.Spec{Kind: matgen.SPD, N: 10})
	w.take()
	recorder.Reset()
	const no, yes = blas.NoTrans, blas.Trans
	for name, c := range map[string]struct {
		f    func() error
		want int
	}{
		"gemm":               {func() error { return la.Gemm[float64](t.Context(), e, no, no, 1, a, wide, 0, &mat.Dense{}) }, 3 * 6 * 3},
		"gemm, alpha 0":      {func() error { return la.Gemm[float64](t.Context(), e, no, no, 0, a, a, 2, sq()) }, 9},
		"gemm, k 0":          {func() error { return la.Gemm[float64](t.Context(), e, no, no, 1, none, none2, 0, sq()) }, 9},
		"gemm, nothing":      {func() error { return la.Gemm[float64](t.Context(), e, no, no, 0, a, a, 1, sq()) }, 0},
		"gemm, k 0, nothing": {func() error { return la.Gemm[float64](t.Context(), e, no, no, 1, none, none2, 1, sq()) }, 0},
		"syrk":               {func() error { return la.Syrk[float64](t.Context(), e, no, 1, wide, 0, sym) }, 6 * 6},
		"syrk, alpha 0":      {func() error { return la.Syrk[float64](t.Context(), e, no, 0, wide, 3, sym) }, 6},
		"syrk, k 0":          {func() error { return la.Syrk[float64](t.Context(), e, yes, 1, none2, 0, sym) }, 6},
		"syrk, nothing":      {func() error { return la.Syrk[float64](t.Context(), e, no, 0, wide, 1, sym) }, 0},
		"trsm, left":         {func() error { return la.Trsm[float64](t.Context(), e, blas.Left, no, 1, tri, wide) }, 6 * 6},
		"trsm, right": {func() error {
			return la.Trsm[float64](t.Context(), e, blas.Right, yes, 1, tri, mat.NewDense(5, 10, nil))
		}, 6 * 2},
		"trsm, alpha 0": {func() error { return la.Trsm[float64](t.Context(), e, blas.Left, no, 0, tri, wide) }, 3 * 6},
		"potrf": {func() error {
			return la.NewCholesky[float64](e).Factorize(symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: 15}, blas.Upper, 0))
		}, 4 * 5 * 6 / 6},
		"potrs": {func() error { return chol.SolveTo(&mat.Dense{}, wide) }, 3 * 4 * 6},
		"potri": {func() error { return chol.InverseTo(&mat.SymDense{}) }, 3*4*5/3 + 3*4/2},
	} {
		if err := c.f(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		done, total, reports := w.take()
		if ran := len(recorder.Events()); done != c.want || total != c.want || ran != c.want {
			t.Errorf("%s: progress %d of %d, %d events; want %d tasks", name, done, total, ran, c.want)
		}
		if (reports == 0) != (c.want == 0) {
			t.Errorf("%s: %d reports", name, reports)
		}
		recorder.Reset()
	}
	// A problem that goes to one kernel: no progress, one event.
	direct := start(t, la.Options{Workers: 2, Progress: w.report, Trace: recorder})
	if err := la.Gemm[float64](t.Context(), direct, no, no, 1, a, a, 0, sq()); err != nil {
		t.Fatal(err)
	}
	if _, _, reports := w.take(); reports != 0 {
		t.Errorf("%d reports for one kernel", reports)
	}
	events := recorder.Events()
	if len(events) != 1 || events[0].Op != "gemm/f64" || events[0].Failed || events[0].Worker != 2 {
		t.Errorf("events of one kernel: %v", events)
	}
}

// TestSharedEngine has goroutines compute unlike things with one engine.
func TestSharedEngine(t *testing.T) {
	var busy atomic.Bool
	var recorder trace.Recorder
	e := start(t, la.Options{Workers: 3, NB: 6, Direct: 20, Float: true, Trace: &recorder, Progress: func(done, total int) {
		if busy.Swap(true) {
			t.Error("two reports at once")
		}
		if done > total {
			t.Errorf("progress %d of %d", done, total)
		}
		busy.Store(false)
	}})
	shared, a := factored[float64](t, e, matgen.Spec{Kind: matgen.SPD, N: 40})
	var users sync.WaitGroup
	for user := range 6 {
		users.Go(func() {
			rnd := rand.New(rand.NewPCG(7, uint64(user)))
			for round := range 8 {
				b := random[float64](rnd, 40, 1+rnd.IntN(10), 0)
				x := padded[float64](b.Rows, b.Cols, 0)
				if err := shared.SolveTo(x, b); err != nil {
					t.Error(err)
				}
				small(t, solveResidual[float64](a, load[float64](x, blas.NoTrans), load[float64](b, blas.NoTrans)), 30, "user %d", user)
				n := 1 + rnd.IntN(50)
				own := la.NewCholesky[float32](e)
				spec := matgen.Spec{Kind: matgen.SPD, N: n, Seed: uint64(round)}
				m := symmetric[float32](t, spec, blas.Lower, 0)
				if round%3 == 2 {
					m.SetSym(n-1, n-1, -1)
					minor(t, own.Factorize(m), n, "user %d, round %d", user, round)
					continue
				}
				if err := own.Factorize(m); err != nil {
					t.Error(err)
					continue
				}
				small(t, choleskyResidual[float32](factor(t, own), load[float32](m, blas.NoTrans)), 30, "user %d", user)
			}
		})
	}
	users.Wait()
}

// TestExplain checks that the choice of a version is explained, for a nil
// engine too.
func TestExplain(t *testing.T) {
	call := &versions.Call{Params: &op.Gemm[float32]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1}}
	for range 3 {
		call.Args = append(call.Args, &kernels.Tile[float32]{Rows: 8, Cols: 8, Stride: 8, Data: make([]float32, 64)})
	}
	for _, e := range []*la.Engine{nil, start(t, la.Options{Workers: 1, Only: []string{"go"}})} {
		x, ok := engine.Explain[float32](e, "gemm", call)
		if !ok || x.Op != "gemm/f32" || x.Chosen == "" || x.String() == "" {
			t.Errorf("%v: %v", ok, x)
		}
		if e != nil && x.Chosen != "go" {
			t.Errorf("chosen is %q", x.Chosen)
		}
		if _, ok := engine.Explain[float32](e, "svd", call); ok {
			t.Error("there is no svd")
		}
	}
}

// TestSweep computes the same with many unlike engines.
func TestSweep(t *testing.T) {
	nbs, all := []int{3, 16}, []int{1, 2, 5}
	if testing.Short() {
		all = []int{1, 3}
	}
	a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPDCond, N: 50}, blas.Lower, 1)
	rnd := rand.New(rand.NewPCG(7, 3))
	b, c := random[float64](rnd, 50, 21, 0), padded[float64](50, 21, 0)
	for _, policy := range dispatch.Kinds() {
		for _, workers := range all {
			for _, nb := range nbs {
				e := start(t, la.Options{Workers: workers, NB: nb, Direct: -1, Policy: policy, Float: workers == 5, Window: workers * nb})
				chol := la.NewCholesky[float64](e)
				if err := chol.Factorize(a); err != nil {
					t.Fatal(err)
				}
				small(t, choleskyResidual[float64](factor(t, chol), load[float64](a, blas.NoTrans)), 30, "%v, %d workers, nb %d", policy, workers, nb)
				if err := la.Gemm[float64](context.Background(), e, blas.NoTrans, blas.NoTrans, 1, a, b, 0, c); err != nil {
					t.Fatal(err)
				}
				small(t, gemmResidual[float64](1, load[float64](a, blas.NoTrans), load[float64](b, blas.NoTrans), 0, dense{}, load[float64](c, blas.NoTrans)), 3,
					"%v, %d workers, nb %d", policy, workers, nb)
			}
		}
	}
}
