package la_test

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/la/krylov"
	"gonum.org/v1/gonum/mat"
)

// TestSharedWorkers: a sparse matrix, an iteration and a loop on the runtime of an engine run on its
// workers, and start none of their own.
func TestSharedWorkers(t *testing.T) {
	for workersRunning() > 0 { // those of the default engine stay a while after a test before this one
		time.Sleep(time.Millisecond)
	}
	const n = 3000
	rec := new(trace.Recorder)
	e, err := la.NewEngine(la.Options{Workers: 2, Float: true, Trace: rec, NB: 16, Direct: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()

	var is, js []int
	var vs []float64
	for i := range n {
		for _, j := range []int{i - 1, i, i + 1} {
			if j >= 0 && j < n {
				is, js, vs = append(is, i), append(js, j), append(vs, float64(5*(1-(i-j)*(i-j))-1))
			}
		}
	}
	a, err := csr.FromCOO(e.Runtime(), n, n, is, js, vs)
	if err != nil {
		t.Fatal(err)
	}
	x, b := make([]float64, n), make([]float64, n)
	for i := range b {
		b[i] = 1
	}
	if _, err := krylov.CG(t.Context(), a, x, b, krylov.CGOptions{}); err != nil {
		t.Error(err)
	}
	var mu sync.Mutex
	items := 0
	err = loop.For(t.Context(), e.Runtime(), n, loop.Options{Site: &loop.Site{Name: "rows"}}, func(c loop.Chunk) error {
		mu.Lock()
		defer mu.Unlock()
		if items += c.Hi - c.Lo; c.Worker >= len(e.Workers()) {
			t.Errorf("worker %d of %d", c.Worker, len(e.Workers()))
		}
		return nil
	})
	if err != nil || items != n {
		t.Error(err, items)
	}
	square := mat.NewDense(40, 40, x[:1600])
	if err := la.Gemm(t.Context(), e, 'N', 'N', 1, square, square, 0, new(mat.Dense)); err != nil {
		t.Error(err)
	}
	if now := workersRunning(); now > 2 { // one may not have begun
		t.Errorf("%d goroutines are workers, and the engine has 2", now)
	}
	ran := map[string]bool{}
	for _, ev := range rec.Events() {
		if ran[ev.Op] = true; ev.Worker > len(e.Workers()) {
			t.Errorf("%s on worker %d", ev.Op, ev.Worker)
		}
	}
	if !ran["rows"] || !ran["gemm/f64"] {
		t.Errorf("the engine's trace has %v, want the loop and the product", ran)
	}

	// The workers end with the engine.
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := a.MulVecTo(t.Context(), b, false, x); !errors.Is(err, exec.ErrClosed) {
		t.Errorf("a product after Close: %v", err)
	}
	if err := loop.For(t.Context(), e.Runtime(), 10, loop.Options{}, func(loop.Chunk) error { return nil }); !errors.Is(err, exec.ErrClosed) {
		t.Errorf("a loop after Close: %v", err)
	}
}

// workersRunning returns how many goroutines of the process are workers of a runtime.
func workersRunning() int {
	stacks := make([]byte, 1<<16)
	for {
		if n := runtime.Stack(stacks, true); n < len(stacks) {
			return bytes.Count(stacks[:n], []byte("exec.(*worker).loop("))
		}
		stacks = make([]byte, 2*len(stacks))
	}
}

// TestEngineRuntime: an engine on a runtime of the program's gives that, and a nil engine none.
func TestEngineRuntime(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	e, err := la.NewEngine(la.Options{Runtime: rt})
	if err != nil {
		t.Fatal(err)
	}
	if e.Runtime() != exec.Runtime(rt) {
		t.Error("another runtime than that of the options")
	}
	e.Close()
	if err := loop.For(t.Context(), e.Runtime(), 10, loop.Options{}, func(loop.Chunk) error { return nil }); err != nil {
		t.Errorf("the program's runtime after the engine's Close: %v", err)
	}
	defer func() {
		if p := recover(); p != engine.ErrNoRuntime {
			t.Errorf("nil engine: %v", p)
		}
	}()
	(*la.Engine)(nil).Runtime()
}
