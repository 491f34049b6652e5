package exec_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// TestEarliestFinishWakes: a task that a worker frees, and that is for another
// worker, which sleeps, wakes that one although the first finds nothing to do.
func TestEarliestFinishWakes(t *testing.T) {
	selector, err := versions.NewSelector(versions.Config{Mode: versions.Static, Measure: true})
	if err != nil {
		t.Fatal(err)
	}
	rt := start(t, exec.Options{Workers: 2, Policy: dispatch.EarliestFinish, Selector: selector})
	job := rt.NewJob(context.Background())
	first := opOf("first", func(*versions.Call) error { time.Sleep(5 * time.Millisecond); return nil })
	op := opOf("second", func(*versions.Call) error { time.Sleep(time.Millisecond); return nil })
	// The second question is about the worker that has not freed the task.
	op.Work = func(c *versions.Call) float64 {
		if asked, ok := c.Params.(*atomic.Int32); ok && asked.Add(1) != 2 {
			return 3.9
		}
		return 1
	}
	submit(t, job, graph.Spec{Op: op})
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		d := graph.Datum{Value: new(int)}
		submit(t, job, graph.Spec{Op: first, Operands: []graph.Operand{inout(&d)}})
		submit(t, job, graph.Spec{Op: op, Params: new(atomic.Int32), Operands: []graph.Operand{inout(&d)}})
		over := make(chan error)
		go func() { over <- job.Wait() }()
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(5 * time.Minute):
			t.Fatal("the task is not executed")
		}
	}
}

// TestEarliestFinishKnows: the policy's costs are the selector's times.
func TestEarliestFinishKnows(t *testing.T) { synctest.Test(t, earliestFinishKnows) } // in virtual time

func earliestFinishKnows(t *testing.T) {
	s, err := versions.NewSelector(versions.Config{Measure: true})
	if err != nil {
		t.Fatal(err)
	}
	// Of a pinned worker's times goes what others take of its core, and that is no virtual time.
	rt := start(t, exec.Options{Workers: 2, Float: true, Policy: dispatch.EarliestFinish, Selector: s})
	job := rt.NewJob(context.Background())
	nap := opOf("nap", func(*versions.Call) error { time.Sleep(2 * time.Millisecond); return nil })
	for range 20 {
		submit(t, job, graph.Spec{Op: nap})
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := s.Expect(nap, &versions.Call{}, rt.Target()); got < 1.9e-3 || got > 2.1e-3 {
		t.Errorf("a task of 2 ms is expected to take %v s", got)
	}
	bad := &versions.Op{Name: "bad", Versions: nap.Versions, Work: func(*versions.Call) float64 { panic("no") }}
	submit(t, job, graph.Spec{Op: bad})
	var te *exec.TaskError
	if err := job.Wait(); !errors.As(err, &te) || te.Op != "bad" {
		t.Errorf("an op whose Work panics: %v", err)
	}
}
