package exec_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// hurried returns a runtime that takes all tasks for short, and a job that has had
// enough of them for one worker to execute everything.
func hurried(t *testing.T, o exec.Options) (*exec.Local, exec.Job) {
	t.Helper()
	if runtime.GOMAXPROCS(0) == 1 { // the submitter would never find the one at work
		runtime.GOMAXPROCS(2)
		t.Cleanup(func() { runtime.GOMAXPROCS(1) })
	}
	o.Hurry()
	rt := start(t, o)
	job := rt.NewJob(context.Background())
	spec := graph.Spec{Op: empty("warm")}
	for exec.Postponed(job) < 2000 {
		if _, err := job.Submit(&spec); err != nil {
			t.Fatal(err)
		}
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

// TestSoloChain: what one worker puts into the graph runs in the order that its
// data ask for, under every policy.
func TestSoloChain(t *testing.T) {
	for _, kind := range dispatch.Kinds() {
		if kind == dispatch.EarliestFinish {
			continue
		}
		_, job := hurried(t, exec.Options{Workers: 3, Policy: kind})
		var n int64
		d := graph.Datum{Value: &n}
		const lead = 100
		var wrong, submitted atomic.Int64
		op := opOf("count", func(c *versions.Call) error {
			v := c.Args[0].(*int64)
			// A worker that rests after each task, because it is as fast as the
			// submitter, does not ask to be the one that executes all.
			for submitted.Load() < *v+lead {
				runtime.Gosched()
			}
			if *v != *c.Params.(*int64) {
				wrong.Add(1)
			}
			*v++
			return nil
		})
		before, tasks := exec.Postponed(job), int64(0)
		postponed := func() bool { return exec.Postponed(job) > before }
		// On a crowded machine it may take long until the submitter is at work beside the
		// one that executes all.
		for tasks < 20000 || tasks < 2000000 && !postponed() {
			i := tasks
			if _, err := job.Submit(&graph.Spec{Op: op, Params: &i, Operands: []graph.Operand{inout(&d)}}); err != nil {
				submitted.Store(math.MaxInt64)
				t.Fatal(err)
			}
			tasks++
			submitted.Store(tasks)
		}
		submitted.Store(math.MaxInt64)
		within(t, func() {
			if err := job.Wait(); err != nil {
				t.Error(err)
			}
		})
		if n != tasks || wrong.Load() > 0 {
			t.Errorf("%v: %d of %d, %d out of order", kind, n, tasks, wrong.Load())
		}
		if !postponed() {
			t.Errorf("%v: the submitter has put all tasks into the graph", kind)
		}
	}
}

// TestSoloStuck: a task that waits for later ones does not hold them up.
func TestSoloStuck(t *testing.T) {
	_, job := hurried(t, exec.Options{Workers: 2})
	for range 20 {
		gate := make(chan struct{})
		for _, f := range []func(){func() { <-gate }, func() {}, func() { close(gate) }} {
			op := opOf("gate", func(*versions.Call) error { f(); return nil })
			if _, err := job.Submit(&graph.Spec{Op: op}); err != nil {
				t.Fatal(err)
			}
		}
		within(t, func() { <-gate })
		spec := graph.Spec{Op: empty("short")}
		for range 500 {
			if _, err := job.Submit(&spec); err != nil {
				t.Fatal(err)
			}
		}
	}
	within(t, func() {
		if err := job.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestSoloNarrow: while all that is in the graph waits for tasks that run, a worker that
// has none looks further on in the backlog, also where the last ready task was taken
// by one who looked after the worker that executed all.
func TestSoloNarrow(t *testing.T) {
	_, job := hurried(t, exec.Options{Workers: 3, Float: true})
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

// TestSoloUnwatched: no worker sleeps while one that executes all tasks waits for a
// later one, also where the worker that was to look after it had something else to
// do, an attempt at a task that others had failed.
func TestSoloUnwatched(t *testing.T) {
	_, job := hurried(t, exec.Options{Workers: 3})
	submit := func(f *graph.Failure, run func() error) {
		op := opOf("step", func(*versions.Call) error { return run() })
		if _, err := job.Submit(&graph.Spec{Op: op, Failure: f}); err != nil {
			t.Fatal(err)
		}
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
		submit(&graph.Failure{Retries: 2}, func() error {
			if tries++; tries < 3 {
				return errors.New("not yet")
			}
			return wait()
		})
		for range round % 12 {
			submit(nil, func() error { return nil })
		}
		submit(nil, wait)
		// The third attempt may be for the worker that waits already.
		for end := time.Now().Add(20 * time.Millisecond); waiting.Load() < 2 && time.Now().Before(end); {
			runtime.Gosched()
		}
		open := func() error { close(gate); return nil }
		if waiting.Load() == 2 {
			submit(nil, open)
		} else {
			open()
		}
		within(t, func() { <-gate })
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSoloIdle: workers without tasks know that there are none, and wait a moment
// for some before they go to sleep.
func TestSoloIdle(t *testing.T) {
	rt, job := hurried(t, exec.Options{Workers: 2})
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); rt.Queued(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("there is nothing to do, and workers are told that there is")
		}
	}
}

// TestSoloSubmitterGoesOn: the submitter may do whatever a task waits for, as long
// as there is room in the window.
func TestSoloSubmitterGoesOn(t *testing.T) {
	_, job := hurried(t, exec.Options{Workers: 1})
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	if _, err := job.Submit(&graph.Spec{Op: opOf("gate", func(*versions.Call) error { <-gate; return nil })}); err != nil {
		t.Fatal(err)
	}
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

// TestSoloFailure: the error is that of the sequential program, and nothing after
// the task is started.
func TestSoloFailure(t *testing.T) {
	_, job := hurried(t, exec.Options{Workers: 2})
	bad := errors.New("bad")
	var after atomic.Bool
	fails := opOf("fails", func(*versions.Call) error { return bad })
	later := opOf("later", func(*versions.Call) error { after.Store(true); return nil })
	d := graph.Datum{Value: new(int)}
	id, err := job.Submit(&graph.Spec{Op: fails, Operands: []graph.Operand{inout(&d)}})
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		if _, err := job.Submit(&graph.Spec{Op: later, Operands: []graph.Operand{inout(&d)}}); err != nil {
			break
		}
	}
	var te *exec.TaskError
	if err := job.Wait(); !errors.As(err, &te) || te.Task != id || !errors.Is(err, bad) {
		t.Errorf("%v, want the failure of task %d", err, id)
	}
	if after.Load() {
		t.Error("a successor of the failed task has run")
	}
}

// TestSoloWaitOn: values are there when WaitOn returns, and uncommon accesses may
// follow common ones that are not in the graph yet.
func TestSoloWaitOn(t *testing.T) {
	_, job := hurried(t, exec.Options{Workers: 2})
	add := opOf("add", func(c *versions.Call) error { *c.Args[0].(*int)++; return nil })
	for range 50 {
		n := new(int)
		d := graph.Datum{Value: n}
		submit := func(m graph.Mode) {
			if _, err := job.Submit(&graph.Spec{Op: add, Operands: []graph.Operand{{Datum: &d, Mode: m}}}); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			submit(graph.InOut)
		}
		if err := job.WaitOn(&d); err != nil || *n != 10 {
			t.Fatalf("%d after 10 tasks, %v", *n, err)
		}
		for range 10 {
			submit(graph.InOut)
		}
		d.SetReduction(graph.Reduction{New: func() any { return new(int) }, Combine: func(dst, src any) { *dst.(*int) += *src.(*int) }})
		for range 10 {
			submit(graph.Reduce)
		}
		for range 10 {
			submit(graph.InOut)
		}
		if err := job.WaitOn(&d); err != nil || *n != 40 {
			t.Fatalf("%d after 40 tasks, %v", *n, err)
		}
	}
	if err := job.Wait(); err != nil {
		t.Error(err)
	}
}

// TestSoloClose: Close and the end of the context do not leave tasks behind that
// are not in the graph yet.
func TestSoloClose(t *testing.T) {
	rt, job := hurried(t, exec.Options{Workers: 2})
	spec := graph.Spec{Op: empty("short")}
	for range 1000 {
		if _, err := job.Submit(&spec); err != nil {
			t.Fatal(err)
		}
	}
	within(t, func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := job.Wait(); err != nil && !errors.Is(err, exec.ErrClosed) {
		t.Error(err)
	}
}

// TestSoloPriorities: of what is in the backlog too the task with the largest
// priority comes first.
func TestSoloPriorities(t *testing.T) {
	_, job := hurried(t, exec.Options{Workers: 1})
	gate, started := make(chan struct{}), make(chan struct{})
	if _, err := job.Submit(&graph.Spec{Op: opOf("gate", func(*versions.Call) error { close(started); <-gate; return nil })}); err != nil {
		t.Fatal(err)
	}
	<-started
	const tasks = 100
	var order []int64
	op := opOf("note", func(c *versions.Call) error { order = append(order, c.Params.(int64)); return nil })
	for i := range int64(tasks) {
		p := i * 37 % tasks
		if _, err := job.Submit(&graph.Spec{Op: op, Params: p, Priority: p}); err != nil {
			t.Fatal(err)
		}
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
