package exec_test

import (
	"context"
	"sync/atomic"
	"testing"
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
		case <-time.After(10 * time.Second):
			t.Fatal("the task is not executed")
		}
	}
}
