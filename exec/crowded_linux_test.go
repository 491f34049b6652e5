package exec_test

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/versions"
)

// unhindered returns a runtime of one worker that times all versions, where the kernel tells what
// holds a thread up.
func unhindered(t *testing.T) (*exec.Local, *versions.Selector) {
	t.Helper()
	d := topo.ThreadDelays()
	if d == nil {
		t.Skip("this kernel does not tell delays")
	}
	d.Close()
	selector, err := versions.NewSelector(versions.Config{Measure: true})
	if err != nil {
		t.Fatal(err)
	}
	rt := start(t, exec.Options{Workers: 1, Selector: selector})
	return rt, selector
}

// TestCrowded: while another program has a part of the core, a version's time is what it has
// computed, and not how long that took: or else the fastest one, tried at the wrong moment,
// would be slow for ever.
func TestCrowded(t *testing.T) {
	rt, selector := unhindered(t)
	cpus := rt.Workers()[0].CPUs
	if cpus == nil {
		t.Fatal("the worker is not pinned")
	}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() { // the other program
		defer close(gone)
		release, _ := topo.Lock(cpus...)
		defer release()
		for {
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	defer func() { close(done); <-gone }()
	const took = 40 * time.Millisecond // by the clock
	op := opOf("spin", func(*versions.Call) error {
		for begin := time.Now(); time.Since(begin) < took; {
		}
		return nil
	})
	job := rt.NewJob(t.Context())
	for range 8 {
		submit(t, job, graph.Spec{Op: op})
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, x := range selector.Profile().Timings() {
		if mean := time.Duration(x.Mean * 1e9); x.Op == op.OpName() && mean > took*7/8 {
			t.Errorf("%v a run, of %v by the clock, half of which another program has had", mean, took)
		}
	}
	if len(selector.Profile().Timings()) == 0 {
		t.Error("nothing was measured")
	}
}

// TestFirstTouch: a run that touches new memory is a warm-up: its time is not the version's.
func TestFirstTouch(t *testing.T) {
	rt, selector := unhindered(t)
	run := 0
	op := opOf("touch", func(*versions.Call) error {
		took := time.Millisecond
		if run++; run%2 == 0 {
			memory, err := syscall.Mmap(-1, 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
			if err != nil {
				return err
			}
			memory[5000] = 1
			took = 20 * time.Millisecond
			if err := syscall.Munmap(memory); err != nil {
				return err
			}
		}
		for begin := time.Now(); time.Since(begin) < took; {
			runtime.KeepAlive(begin)
		}
		return nil
	})
	job := rt.NewJob(t.Context())
	for range 12 {
		submit(t, job, graph.Spec{Op: op})
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, x := range selector.Profile().Timings() {
		if x.Op == op.OpName() && (x.Count == 0 || x.Count > 6 || x.Mean > 10e-3) {
			t.Errorf("%v for %d of %d runs", time.Duration(x.Mean*1e9), x.Count, x.Runs)
		}
	}
	if len(selector.Profile().Timings()) == 0 {
		t.Error("nothing was measured")
	}
}
