package exec_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// busy returns a runtime and a job of it that has had many short tasks.
func busy(t *testing.T, o exec.Options) (*exec.Local, exec.Job) {
	t.Helper()
	rt := start(t, o)
	job := rt.NewJob(context.Background())
	for range 2000 {
		submit(t, job, graph.Spec{Op: empty("short")})
	}
	return rt, job
}

// within fails the test if f does not return in time.
func within(t *testing.T, f func()) {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		f()
	}()
	select {
	case <-over:
	case <-time.After(5 * time.Minute):
		t.Fatal("nothing happens any more")
	}
}

// TestShortStuck: among short tasks, one that waits for a later one does not hold it up.
func TestShortStuck(t *testing.T) {
	_, job := busy(t, exec.Options{Workers: 2})
	for range 20 {
		gate := make(chan struct{})
		for _, f := range []func(){func() { <-gate }, func() {}, func() { close(gate) }} {
			submit(t, job, graph.Spec{Op: opOf("gate", func(*versions.Call) error { f(); return nil })})
		}
		within(t, func() { <-gate })
		for range 500 {
			submit(t, job, graph.Spec{Op: empty("short")})
		}
	}
	within(t, func() {
		if err := job.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestShortNarrow: while most tasks of the graph wait for one that runs, the few that can run do.
func TestShortNarrow(t *testing.T) {
	_, job := busy(t, exec.Options{Workers: 3, Float: true})
	short, behind := empty("short"), empty("behind")
	for range 20 {
		gate := make(chan struct{})
		wait := opOf("wait", func(*versions.Call) error { <-gate; return nil })
		var d graph.Datum
		add := func(n int, op *versions.Op, on ...graph.Operand) {
			for range n {
				submit(t, job, graph.Spec{Op: op, Operands: on})
			}
		}
		add(3000, short)
		add(1, wait, inout(&d))
		add(400, behind, inout(&d))
		add(1, wait)
		add(200, behind, inout(&d))
		add(1, opOf("open", func(*versions.Call) error { close(gate); return nil }))
		within(t, func() { <-gate })
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShortRetries: no worker sleeps while two of three wait for a later task, also where one of
// them makes the last attempt at a task that others had failed.
func TestShortRetries(t *testing.T) {
	_, job := busy(t, exec.Options{Workers: 3})
	step := func(f *graph.Failure, run func() error) {
		submit(t, job, graph.Spec{Op: opOf("step", func(*versions.Call) error { return run() }), Failure: f})
	}
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		gate := make(chan struct{})
		var waiting atomic.Int32
		wait := func() error {
			waiting.Add(1)
			<-gate
			return nil
		}
		tries := 0
		step(&graph.Failure{Retries: 2}, func() error {
			if tries++; tries < 3 {
				return errors.New("not yet")
			}
			return wait()
		})
		for range round % 12 {
			step(nil, func() error { return nil })
		}
		step(nil, wait)
		// The third attempt may be for the worker that waits already.
		for end := time.Now().Add(20 * time.Millisecond); waiting.Load() < 2 && time.Now().Before(end); {
			runtime.Gosched()
		}
		open := func() error { close(gate); return nil }
		if waiting.Load() == 2 {
			step(nil, open)
		} else {
			_ = open()
		}
		within(t, func() { <-gate })
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShortIdle: workers without tasks know that there are none.
func TestShortIdle(t *testing.T) {
	rt, job := busy(t, exec.Options{Workers: 2})
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "workers are told that there is nothing to do", func() bool { return !rt.Queued() })
}

// TestShortSubmitterGoesOn: the submitter may do what a task waits for, as long as there is room in
// the window.
func TestShortSubmitterGoesOn(t *testing.T) {
	_, job := busy(t, exec.Options{Workers: 1})
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	submit(t, job, graph.Spec{Op: opOf("gate", func(*versions.Call) error { <-gate; return nil })})
	within(t, func() {
		spec := graph.Spec{Op: empty("later")}
		for range exec.DefaultWindow - 1 {
			if _, err := job.Submit(&spec); err != nil {
				t.Error(err)
			}
		}
		close(gate)
		if err := job.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestShortPriorities: of the ready tasks the one with the largest priority comes first.
func TestShortPriorities(t *testing.T) {
	_, job := busy(t, exec.Options{Workers: 1})
	gate, started := make(chan struct{}), make(chan struct{})
	submit(t, job, graph.Spec{Op: opOf("gate", func(*versions.Call) error { close(started); <-gate; return nil })})
	<-started
	const tasks = 100
	var order []int64
	op := opOf("note", func(c *versions.Call) error { order = append(order, c.Params.(int64)); return nil })
	for i := range int64(tasks) {
		p := i * 37 % tasks
		submit(t, job, graph.Spec{Op: op, Params: p, Priority: p})
	}
	close(gate)
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, p := range order {
		if p != int64(tasks-1-i) {
			t.Fatalf("in the order %v", order)
		}
	}
}
