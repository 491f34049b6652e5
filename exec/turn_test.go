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
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/versions"
)

// endless is an op whose task goes on until done is set, and gives way when it is to.
func endless(done *atomic.Bool, turns *atomic.Int32, started chan<- struct{}) *versions.Op {
	return opOf("endless", func(c *versions.Call) error {
		turn, err := exec.TakeTurn(c)
		if err != nil {
			return err
		}
		if turns.Add(1) == 1 {
			close(started)
		}
		for !done.Load() {
			if turn.Over() {
				return errors.New("over")
			}
			if turn.Wanted(0) {
				return exec.ErrUnfinished
			}
		}
		return nil
	})
}

// TestTurns: a task that gives way lets others run, under every policy, and goes on
// afterwards; it has one end, and has not failed.
func TestTurns(t *testing.T) {
	for _, kind := range policies() {
		for _, here := range []bool{false, true} {
			var rec trace.Recorder
			opt := exec.Options{Workers: 1, Float: true, Recorder: &rec, Stories: 100}
			schedule(&opt, kind)
			rt := start(t, opt)
			var done atomic.Bool
			var turns atomic.Int32
			started := make(chan struct{})
			job, other := rt.NewJob(context.Background()), rt.NewJob(context.Background())
			ended := make(chan error)
			go func() {
				spec := &graph.Spec{Op: endless(&done, &turns, started)}
				var err error
				if here {
					err = exec.RunHere(job, spec, 1)
				} else {
					_, err = job.Submit(spec)
				}
				if err == nil {
					err = job.Wait()
				}
				ended <- err
			}()
			<-started
			for range 3 {
				submit(t, other, graph.Spec{Op: opOf("other", func(*versions.Call) error { return nil }), Priority: 1})
				if err := other.Wait(); err != nil {
					t.Fatal(err)
				}
			}
			done.Store(true)
			if err := <-ended; err != nil {
				t.Fatalf("%v: %v", kind, err)
			}
			if n := turns.Load(); n < 2 {
				t.Errorf("%v: %d turns", kind, n)
			}
			if job.Completed() != 1 || other.Completed() != 3 {
				t.Errorf("%v: %d and %d tasks ended", kind, job.Completed(), other.Completed())
			}
			for _, e := range rec.Events() {
				if e.Failed {
					t.Errorf("%v: %+v", kind, e)
				}
			}
			if c := rec.Counts(); c.Running != 0 || c.Ready != 0 || c.Ended != 4 {
				t.Errorf("%v: %+v", kind, c)
			}
			if s, err := job.Story(1); err != nil || s.Steps[len(s.Steps)-1].State != graph.Done {
				t.Errorf("%v: %v, %v", kind, s, err)
			}
		}
	}
}

// TestTurnMine: ready tasks of its own are no reason to give way.
func TestTurnMine(t *testing.T) {
	rt := start(t, exec.Options{Workers: 1, Float: true})
	job := rt.NewJob(context.Background())
	looked := make(chan bool, 1)
	ready := make(chan struct{})
	submit(t, job, graph.Spec{Op: opOf("first", func(c *versions.Call) error {
		turn, err := exec.TakeTurn(c)
		<-ready
		time.Sleep(time.Millisecond) // a look in 20 µs is all there is
		looked <- turn.Wanted(2)
		time.Sleep(time.Millisecond)
		looked <- turn.Wanted(1)
		return err
	})})
	for range 2 {
		submit(t, job, graph.Spec{Op: opOf("second", func(*versions.Call) error { return nil })})
	}
	close(ready)
	if <-looked {
		t.Error("wanted by its own")
	}
	if !<-looked {
		t.Error("not wanted by another one")
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestTurnOver: a turn hears of the end of its job, whatever has ended it.
func TestTurnOver(t *testing.T) {
	for name, end := range map[string]func(cancel func(), rt *exec.Local){
		"context": func(cancel func(), _ *exec.Local) { cancel() },
		"close":   func(_ func(), rt *exec.Local) { rt.Close() },
	} {
		rt := start(t, exec.Options{Workers: 2, Float: true})
		ctx, cancel := context.WithCancel(context.Background())
		job := rt.NewJob(ctx)
		var turns atomic.Int32
		started := make(chan struct{})
		submit(t, job, graph.Spec{Op: endless(new(atomic.Bool), &turns, started)})
		<-started
		end(cancel, rt)
		if err := job.Wait(); err == nil {
			t.Errorf("%s: no error", name)
		}
		cancel()
	}
}

func TestTurnOutside(t *testing.T) {
	if _, err := exec.TakeTurn(&versions.Call{}); !errors.Is(err, exec.ErrNoTask) {
		t.Error(err)
	}
}

// asleep waits until all workers of rt sleep.
func asleep(t *testing.T, rt *exec.Local) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); rt.Sleeping() < len(rt.Workers()); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("workers do not go to sleep")
		}
	}
}

// TestGuest: a task runs on the caller's goroutine while a worker sleeps, under that worker's
// number; and by a worker if none sleeps, or if the task has to wait for others.
func TestGuest(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2, Float: true})
	asleep(t, rt)
	job := rt.NewJob(context.Background())
	returned := false
	worker := -1
	op := opOf("here", func(c *versions.Call) error {
		turn, err := exec.TakeTurn(c)
		worker = turn.Worker().ID
		returned = true // no data race only if it is this goroutine, or Wait comes in between
		return err
	})
	if err := exec.RunHere(job, &graph.Spec{Op: op}, 1); err != nil {
		t.Fatal(err)
	}
	if !returned || worker < 0 || worker > 1 || rt.Sleeping() != 2 {
		t.Errorf("ran: %v, on worker %d; %d sleep", returned, worker, rt.Sleeping())
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}

	// While both workers are at tasks of their own nobody's place is free.
	part, met := meet(2)
	release := make(chan struct{})
	for range 2 {
		submit(t, job, graph.Spec{Op: opOf("busy", func(*versions.Call) error { part(); <-release; return nil })})
	}
	for !met() {
		runtime.Gosched()
	}
	ran := make(chan struct{})
	if err := exec.RunHere(job, &graph.Spec{Op: opOf("later", func(*versions.Call) error { close(ran); return nil })}, 1); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ran:
		t.Error("a task ran although both workers were busy")
	default:
	}
	close(release)
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	<-ran

	// One that waits for another's result is submitted.
	d := &graph.Datum{Name: "d"}
	go2 := make(chan struct{})
	submit(t, job, graph.Spec{Op: opOf("first", func(*versions.Call) error { <-go2; return nil }), Operands: []graph.Operand{{Datum: d, Mode: graph.Out}}})
	if err := exec.RunHere(job, &graph.Spec{Op: opOf("second", func(*versions.Call) error { return nil }), Operands: []graph.Operand{{Datum: d, Mode: graph.In}}}, 1); err != nil {
		t.Fatal(err)
	}
	close(go2)
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestGuestPlace: the caller takes the place of the worker of its own core, so that none that is
// woken for the other tasks wants that core.
func TestGuestPlace(t *testing.T) {
	rt := start(t, exec.Options{})
	for _, w := range rt.Workers() {
		if w.CPUs == nil || w.Accelerator != "" {
			continue
		}
		asleep(t, rt)
		release, err := topo.Lock(w.CPUs...)
		if err != nil {
			t.Fatal(err)
		}
		at := -1
		job := rt.NewJob(context.Background())
		err = exec.RunHere(job, &graph.Spec{Op: opOf("here", func(c *versions.Call) error {
			turn, err := exec.TakeTurn(c)
			at = turn.Worker().ID
			return err
		})}, 1)
		release()
		if err := errors.Join(err, job.Wait()); err != nil || at != w.ID {
			t.Errorf("on core %v: in the place of worker %d, want %d; %v", w.CPUs, at, w.ID, err)
		}
	}
}

// TestGuestFails: what goes wrong in a guest's task is the failure of the task; the worker
// has its seat again.
func TestGuestFails(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2, Float: true})
	for name, end := range map[string]func(){"panic": func() { panic("on purpose") }, "goexit": runtime.Goexit} {
		asleep(t, rt)
		job := rt.NewJob(context.Background())
		over := make(chan struct{})
		go func() {
			defer close(over)
			_ = exec.RunHere(job, &graph.Spec{Op: opOf("ends", func(*versions.Call) error { end(); return nil })}, 1)
		}()
		<-over
		var pe *exec.PanicError
		if err := job.Wait(); !errors.As(err, &pe) {
			t.Errorf("%s: %v", name, err)
		}
	}
	asleep(t, rt)
	job := rt.NewJob(context.Background())
	part, met := meet(2)
	for range 2 {
		submit(t, job, graph.Spec{Op: opOf("both", func(*versions.Call) error { part(); return nil })})
	}
	if err := job.Wait(); err != nil || !met() {
		t.Errorf("afterwards: %v, both workers came: %v", err, met())
	}
}

// TestGuestWaits: a guest that waits inside lends the cores to a substitute, and has children.
func TestGuestWaits(t *testing.T) {
	rt := start(t, exec.Options{Workers: 1, Float: true})
	asleep(t, rt)
	job := rt.NewJob(context.Background())
	var ran atomic.Int32
	if err := exec.RunHere(job, &graph.Spec{Op: opOf("parent", func(c *versions.Call) error {
		children, err := exec.Nested(c)
		if err != nil {
			return err
		}
		for range 5 {
			if _, err := children.Submit(&graph.Spec{Op: opOf("child", func(*versions.Call) error { ran.Add(1); return nil })}); err != nil {
				return err
			}
		}
		return children.Wait()
	})}, 1); err != nil {
		t.Fatal(err)
	}
	if err := job.Wait(); err != nil || ran.Load() != 5 {
		t.Errorf("%v, %d children ran", err, ran.Load())
	}
}

// TestGuestClose: a runtime that is closed while there is a guest waits for it, and leaves
// nobody behind: see TestMain.
func TestGuestClose(t *testing.T) {
	for range 50 {
		rt := start(t, exec.Options{Workers: 2, Float: true})
		asleep(t, rt)
		job := rt.NewJob(context.Background())
		started, closed := make(chan struct{}), make(chan struct{})
		go func() {
			<-started
			rt.Close()
			close(closed)
		}()
		if err := exec.RunHere(job, &graph.Spec{Op: opOf("guest", func(c *versions.Call) error {
			close(started)
			turn, err := exec.TakeTurn(c)
			for !turn.Over() {
				runtime.Gosched()
			}
			return err
		})}, 1); err != nil {
			t.Fatal(err)
		}
		<-closed
	}
}

// TestGuests: callers that run tasks here, tasks that others submit, and workers that come and
// go do not get in one another's way.
func TestGuests(t *testing.T) {
	rt := start(t, exec.Options{Workers: 3, Float: true})
	var ran atomic.Int32
	op := opOf("count", func(c *versions.Call) error {
		turn, err := exec.TakeTurn(c)
		if ran.Add(1)%7 == 0 && turn.Wanted(0) {
			ran.Add(-1)
			return exec.ErrUnfinished
		}
		return err
	})
	const callers, rounds = 4, 300
	ended := make(chan error, callers)
	for range callers {
		go func() {
			for range rounds {
				job := rt.NewJob(context.Background())
				if err := exec.RunHere(job, &graph.Spec{Op: op}, 3); err != nil {
					ended <- err
					return
				}
				if err := job.Wait(); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	for range callers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if n := ran.Load(); n != 3*callers*rounds {
		t.Errorf("%d tasks ran, want %d", n, 3*callers*rounds)
	}
	asleep(t, rt)
}
