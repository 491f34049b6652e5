package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// TestSmallestFailure lets many independent tasks fail in an order that has
// nothing to do with their numbers.
func TestSmallestFailure(t *testing.T) {
	rt := start(t, exec.Options{Workers: 4, Policy: dispatch.LIFO})
	errBad := errors.New("bad")
	for round := range 50 {
		rnd := rand.New(rand.NewPCG(uint64(round), 0))
		first := 20 + rnd.IntN(80)
		gate := make(chan struct{})
		op := opOf("maybe", func(c *versions.Call) error {
			<-gate
			if n := *c.Params.(*int); n >= first && n%3 == first%3 {
				return errBad
			}
			return nil
		})
		job := rt.NewJob(context.Background())
		for n := 1; n <= 200; n++ {
			submit(t, job, graph.Spec{Op: op, Params: &n})
		}
		close(gate)
		var te *exec.TaskError
		err := job.Wait()
		if !errors.As(err, &te) || !errors.Is(err, errBad) || int(te.Task) != first {
			t.Fatalf("round %d: %v, want failure of task %d", round, err, first)
		}
		if te.Op != "maybe" || te.Version != "go" || te.Attempts != 1 {
			t.Fatalf("incomplete report %+v", te)
		}
		if _, err := job.Submit(&graph.Spec{Op: op, Params: &first}); !errors.Is(err, errBad) {
			t.Fatalf("Submit to a failed job: %v", err)
		}
	}
}

func TestFailurePolicies(t *testing.T) {
	rt := start(t, exec.Options{Workers: 3})
	errBad := errors.New("bad")
	var ran atomic.Int64
	bad := opOf("bad", func(*versions.Call) error { return errBad })
	good := opOf("good", func(*versions.Call) error { ran.Add(1); return nil })
	run := func(f *graph.Failure) (job exec.Job, err error) {
		ran.Store(0)
		var x, y graph.Datum
		job = rt.NewJob(context.Background())
		submit(t, job, graph.Spec{Op: bad, Failure: f, Operands: []graph.Operand{{Datum: &x, Mode: graph.Out}}})
		// The rest may be refused if the job has failed by then.
		job.Submit(&graph.Spec{Op: good, Operands: []graph.Operand{{Datum: &x, Mode: graph.InOut}}})
		job.Submit(&graph.Spec{Op: good, Operands: []graph.Operand{{Datum: &x, Mode: graph.In}, {Datum: &y, Mode: graph.Out}}})
		job.Submit(&graph.Spec{Op: good, Operands: []graph.Operand{{Datum: &y, Mode: graph.Out}}})
		job.Submit(&graph.Spec{Op: good})
		return job, job.Wait()
	}
	if _, err := run(&graph.Failure{Then: graph.CancelSuccessors}); !errors.Is(err, errBad) || ran.Load() != 2 {
		t.Errorf("cancel successors: %v, %d others ran, want 2", err, ran.Load())
	}
	if job, err := run(&graph.Failure{Then: graph.Ignore}); err != nil || ran.Load() != 4 || job.Ignored() != 1 {
		t.Errorf("ignore: %v, %d others ran, want 4", err, ran.Load())
	}
	if _, err := run(nil); !errors.Is(err, errBad) {
		t.Errorf("fail: %v", err)
	}
}

func TestRetry(t *testing.T) {
	for _, workers := range []int{1, 3} {
		rt := start(t, exec.Options{Workers: workers, Stories: 10})
		errBad := errors.New("bad")
		attempts := 0
		flaky := opOf("flaky", func(c *versions.Call) error {
			attempts++
			c.Args[0].(*cell).n++ // must not add up over attempts
			if attempts < 4 {
				return errBad
			}
			return nil
		})
		d := graph.Datum{Value: &cell{n: 10}}
		job := rt.NewJob(context.Background())
		id := submit(t, job, graph.Spec{Op: flaky, Failure: &graph.Failure{Retries: 3}, Operands: []graph.Operand{{Datum: &d, Mode: graph.InOut}}})
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		if got := d.Value.(*cell).n; attempts != 4 || got != 11 {
			t.Errorf("%d attempts and value %d, want 4 and 11", attempts, got)
		}
		st, err := job.Story(id)
		if err != nil {
			t.Fatal(err)
		}
		used := map[int]bool{}
		for _, p := range st.Steps {
			if p.State == graph.Running {
				used[p.Worker] = true
			}
		}
		if workers > 1 && len(used) < 2 {
			t.Errorf("all attempts on one of %d workers:\n%v", workers, st)
		}
		attempts = -10
		job = rt.NewJob(context.Background())
		submit(t, job, graph.Spec{Op: flaky, Failure: &graph.Failure{Retries: 2}, Operands: []graph.Operand{{Datum: &d, Mode: graph.InOut}}})
		var te *exec.TaskError
		if err := job.Wait(); !errors.As(err, &te) || te.Attempts != 3 {
			t.Errorf("after the last retry: %v", err)
		}
	}
}

// finalError is an error that no attempt more can do away with.
type finalError struct{ error }

func (finalError) Final() bool { return true }

// TestRetryDoubles: an op that doubles and fails once gives 2, and not 4, in every
// mode that updates in place, also where the copy of a reduction has something in
// it; an error that is final is not tried again; and a task that cannot be restored
// is refused.
func TestRetryDoubles(t *testing.T) {
	rt := start(t, exec.Options{Workers: 1})
	errBad := errors.New("bad")
	for _, mode := range []graph.Mode{graph.InOut, graph.Commute, graph.Reduce} {
		d := graph.Datum{Value: &cell{n: 1}}
		d.SetReduction(graph.Reduction{New: func() any { return &cell{n: 1} }, Combine: func(dst, src any) { dst.(*cell).n = src.(*cell).n }})
		job := rt.NewJob(context.Background())
		tries := 0
		double := graph.Spec{Operands: []graph.Operand{{Datum: &d, Mode: mode}}, Failure: &graph.Failure{Retries: 1}, Op: opOf("double", func(c *versions.Call) error {
			c.Args[0].(*cell).n *= 2
			if tries++; tries == 1 || tries == 3 {
				return errBad
			}
			return nil
		})}
		submit(t, job, double)
		submit(t, job, double)
		if err := job.Wait(); err != nil || d.Value.(*cell).n != 4 {
			t.Errorf("%v: %d after two tasks that double and fail once each, want 4; %v", mode, d.Value.(*cell).n, err)
		}
	}
	job := rt.NewJob(context.Background())
	var x graph.Datum
	var te *exec.TaskError
	submit(t, job, graph.Spec{Failure: &graph.Failure{Retries: 5}, Op: opOf("final", func(*versions.Call) error {
		return fmt.Errorf("a matrix is to blame: %w", finalError{errBad})
	}), Operands: []graph.Operand{out(&x)}})
	if err := job.Wait(); !errors.As(err, &te) || te.Attempts != 1 {
		t.Errorf("a final error: %v", err)
	}
	defer func() {
		if v := recover(); v != exec.ErrNotRestorable {
			t.Errorf("Submit of a task that cannot be restored: panic %v", v)
		}
	}()
	rt.NewJob(context.Background()).Submit(&graph.Spec{Op: empty("t"), Failure: &graph.Failure{Retries: 1},
		Operands: []graph.Operand{in(&x), out(&x)}})
}

func TestTimeout(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	slow := opOf("slow", func(c *versions.Call) error {
		select {
		case <-c.Ctx.Done():
			return c.Ctx.Err()
		case <-time.After(5 * time.Minute):
			t.Error("the attempt's context did not end with the time-out")
			return nil
		}
	})
	job := rt.NewJob(context.Background())
	submit(t, job, graph.Spec{Op: slow, Failure: &graph.Failure{Timeout: 5 * time.Millisecond}})
	err := job.Wait()
	var te *exec.TimeoutError
	if !errors.As(err, &te) || te.Limit != 5*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want a time-out", err)
	}
}

func TestPanicAndGoexit(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	for name, f := range map[string]func(*versions.Call) error{
		"panic":  func(*versions.Call) error { panic(graph.ErrMode) },
		"nil":    func(*versions.Call) error { panic(nil) },
		"index":  func(c *versions.Call) error { _ = c.Args[3]; return nil },
		"goexit": func(*versions.Call) error { runtime.Goexit(); return nil },
	} {
		for range 5 { // more often than there are workers
			job := rt.NewJob(context.Background())
			submit(t, job, graph.Spec{Op: opOf(name, f)})
			var pe *exec.PanicError
			err := job.Wait()
			if !errors.As(err, &pe) || len(pe.Stack) == 0 {
				t.Fatalf("%s: %v", name, err)
			}
			if name == "panic" && !errors.Is(err, graph.ErrMode) {
				t.Errorf("the panic's error is lost: %v", err)
			}
		}
	}
	job := rt.NewJob(context.Background())
	submit(t, job, graph.Spec{Op: empty("alive")})
	if err := job.Wait(); err != nil {
		t.Error(err)
	}
}
