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

// TestIdleRuntimeKeepsNoData drops data after a job and expects the collector
// to get them although the runtime lives on.
func TestIdleRuntimeKeepsNoData(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	var freed atomic.Int32
	func() {
		job := rt.NewJob(context.Background())
		for range 4 {
			value := new([1 << 16]byte)
			runtime.AddCleanup(value, func(int) { freed.Add(1) }, 0)
			d := &graph.Datum{Value: value}
			for range 3 {
				submit(t, job, graph.Spec{Op: empty("touch"), Operands: []graph.Operand{{Datum: d, Mode: graph.InOut}}})
			}
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
	}()
	for deadline := time.Now().Add(5 * time.Minute); freed.Load() < 4 && time.Now().Before(deadline); {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if freed.Load() < 4 {
		t.Errorf("%d of 4 values were freed", freed.Load())
	}
}

// TestRefusedSubmitShowsInWait checks a program that looks at Wait alone.
func TestRefusedSubmitShowsInWait(t *testing.T) {
	rt := start(t, exec.Options{Workers: 1})
	job := rt.NewJob(context.Background())
	rt.Close()
	job.Submit(&graph.Spec{Op: empty("late")})
	if err := job.Wait(); !errors.Is(err, exec.ErrClosed) {
		t.Errorf("Wait: %v", err)
	}
}

// TestSmallestTaint lets two inputs of a task fail in either order of time.
func TestSmallestTaint(t *testing.T) {
	rt := start(t, exec.Options{Workers: 3})
	for round := range 20 {
		errs := []error{errors.New("first"), errors.New("second")}
		job := rt.NewJob(context.Background())
		var in [2]graph.Datum
		var out graph.Datum
		for i := range in {
			submit(t, job, graph.Spec{Op: opOf("bad", func(*versions.Call) error {
				time.Sleep(time.Duration((i+round)%2) * 2 * time.Millisecond)
				return errs[i]
			}), Failure: &graph.Failure{Then: graph.CancelSuccessors}, Operands: []graph.Operand{{Datum: &in[i], Mode: graph.Out}}})
		}
		submit(t, job, graph.Spec{Op: empty("sum"), Operands: []graph.Operand{
			{Datum: &in[0], Mode: graph.In}, {Datum: &in[1], Mode: graph.In}, {Datum: &out, Mode: graph.Out}}})
		if err := job.WaitOn(&out); !errors.Is(err, errs[0]) {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := job.Wait(); !errors.Is(err, errs[0]) {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// TestCauseOutranksContextError has a task that heeds its context.
func TestCauseOutranksContextError(t *testing.T) {
	rt := start(t, exec.Options{Workers: 1})
	why := errors.New("changed my mind")
	ctx, cancel := context.WithCancelCause(context.Background())
	job := rt.NewJob(ctx)
	submit(t, job, graph.Spec{Op: opOf("patient", func(c *versions.Call) error {
		cancel(why)
		<-c.Ctx.Done()
		return c.Ctx.Err()
	})})
	if err := job.Wait(); !errors.Is(err, why) {
		t.Errorf("Wait: %v", err)
	}
}

// TestForeignPanics has panics in what a user adds beside Run.
func TestForeignPanics(t *testing.T) {
	sel, err := versions.NewSelector(versions.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rt := start(t, exec.Options{Workers: 1, Selector: sel})
	op := &versions.Op{Name: "odd", Work: func(c *versions.Call) float64 { return c.Params.(float64) },
		Versions: []versions.Version{{Name: "a", Run: func(*versions.Call) error { return nil }}, {Name: "b", Run: func(*versions.Call) error { return nil }}}}
	job := rt.NewJob(context.Background())
	submit(t, job, graph.Spec{Op: op})
	var pe *exec.PanicError
	var te *exec.TaskError
	if err := job.Wait(); !errors.As(err, &pe) || !errors.As(err, &te) || te.Worker != -1 || te.Attempts != 0 {
		t.Errorf("panic in Work: %v", err)
	}
}

// TestGoexitIsRetried counts an attempt that ends its goroutine as one.
func TestGoexitIsRetried(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	var runs atomic.Int32
	job := rt.NewJob(context.Background())
	submit(t, job, graph.Spec{Failure: &graph.Failure{Retries: 3}, Op: opOf("quits", func(*versions.Call) error {
		if runs.Add(1) < 3 {
			runtime.Goexit()
		}
		return nil
	})})
	if err := job.Wait(); err != nil || runs.Load() != 3 {
		t.Errorf("%v after %d runs", err, runs.Load())
	}
}

// TestNoPartOutlivesItsTask lets the leader of a gang leave by Goexit while
// members work.
func TestNoPartOutlivesItsTask(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2, Target: versions.Target{Units: 2}})
	for range 10 {
		var over atomic.Bool
		var late atomic.Int32
		job := rt.NewJob(context.Background())
		submit(t, job, graph.Spec{Op: gangOp(2, func(c *versions.Call) error {
			var first atomic.Bool
			c.Parallel(6, func(int, *versions.Workspace) {
				if first.CompareAndSwap(false, true) {
					time.Sleep(time.Millisecond)
					runtime.Goexit()
				}
				time.Sleep(2 * time.Millisecond)
				if over.Load() {
					late.Add(1)
				}
			})
			return nil
		})})
		if job.Wait() == nil {
			t.Error("no error")
		}
		over.Store(true)
		time.Sleep(3 * time.Millisecond)
		if late.Load() > 0 {
			t.Fatalf("%d parts ended after their task", late.Load())
		}
	}
}
