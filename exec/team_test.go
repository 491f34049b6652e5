package exec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// helpedOp returns an op with one version that others can help with.
func helpedOp(units int, f func(*versions.Call) error) *versions.Op {
	return &versions.Op{Name: "helped", Versions: []versions.Version{{Name: "some", Help: func(*versions.Call) (int, bool) { return units, false }, Run: f}}}
}

// meet returns a part that waits until n of them are at work, and whether they
// were.
func meet(n int32) (part func(), met func() bool) {
	var together atomic.Int32
	return func() {
			together.Add(1)
			for deadline := time.Now().Add(5 * time.Minute); together.Load() < n && time.Now().Before(deadline); {
				runtime.Gosched()
			}
		}, func() bool {
			return together.Load() >= n
		}
}

// TestHelp: workers without a task of their own help, as many as the call makes use
// of, under every policy; each part of each phase runs once.
func TestHelp(t *testing.T) {
	for _, kind := range dispatch.Kinds() {
		for _, workers := range []int{1, 2, 4} {
			rt := start(t, exec.Options{Workers: workers, Policy: kind, Float: true})
			units := min(3, workers)
			var most atomic.Int32
			op := helpedOp(3, func(c *versions.Call) error {
				if workers == 1 {
					if c.Gang != nil {
						return errors.New("a gang for one worker")
					}
				} else if c.Gang.Units() != units {
					return fmt.Errorf("%d units, want %d", c.Gang.Units(), units)
				}
				for range 3 {
					var hits [9]atomic.Int32
					var at atomic.Int32
					part, met := meet(int32(units))
					c.Parallel(len(hits), func(i int, w *versions.Workspace) {
						n := at.Add(1)
						for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
						}
						w.Bytes(64)[0] = byte(i)
						if hits[i].Add(1); i < units {
							part()
						}
						at.Add(-1)
					})
					for i := range hits {
						if hits[i].Load() != 1 {
							return errors.New("a part did not run once")
						}
					}
					if !met() {
						return errors.New("nobody came to help")
					}
					c.Parallel(0, nil)
				}
				return nil
			})
			for range 5 { // one at a time, so that the others have nothing to do
				job := rt.NewJob(context.Background())
				submit(t, job, graph.Spec{Op: op})
				if err := job.Wait(); err != nil {
					t.Errorf("%v, %d workers: %v", kind, workers, err)
				}
			}
			if n := int(most.Load()); n > units {
				t.Errorf("%v, %d workers: %d at work for %d units", kind, workers, n, units)
			}
		}
	}
}

// longHelped is a task with so many parts that a helper is wanted elsewhere
// before they are done. It says when somebody helps, and fails if it has had to do
// most parts before ran was set.
func longHelped(parts int, ran *atomic.Bool) (op *versions.Op, helping chan struct{}) {
	helping = make(chan struct{})
	return helpedOp(2, func(c *versions.Call) error {
		part, met := meet(2)
		var after atomic.Int32
		c.Parallel(parts, func(i int, _ *versions.Workspace) {
			if i < 2 {
				part()
				if i == 0 {
					close(helping)
				}
				return
			}
			if ran.Load() { // the rest is no use
				return
			}
			after.Add(1)
			time.Sleep(50 * time.Microsecond)
		})
		if !met() || int(after.Load()) > parts/2 {
			return errors.New("the task had to wait")
		}
		return nil
	}), helping
}

// TestHelpGoes: who helps goes when there is a task, after the part that it is at.
func TestHelpGoes(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2, Float: true})
	job := rt.NewJob(context.Background())
	var ran atomic.Bool
	op, helping := longHelped(1<<20, &ran)
	submit(t, job, graph.Spec{Op: op})
	<-helping
	submit(t, job, graph.Spec{Op: opOf("task", func(*versions.Call) error { ran.Store(true); return nil })})
	if err := job.Wait(); err != nil {
		t.Error(err)
	}
}

// TestHelpPanics: what goes wrong in a part of somebody who helps is the failure of
// the task, and everybody goes on.
func TestHelpPanics(t *testing.T) {
	rt := start(t, exec.Options{Workers: 3, Float: true})
	for name, end := range map[string]func(){"panic": func() { panic("on purpose") }, "goexit": runtime.Goexit} {
		for round := range 3 {
			job := rt.NewJob(context.Background())
			submit(t, job, graph.Spec{Op: helpedOp(3, func(c *versions.Call) error {
				part, _ := meet(3)
				c.Parallel(8, func(i int, _ *versions.Workspace) {
					if i < 3 {
						part()
					}
					if i == round { // one of the three that have met
						end()
					}
				})
				return nil
			})})
			var pe *exec.PanicError
			if err := job.Wait(); !errors.As(err, &pe) {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	job := rt.NewJob(context.Background())
	part, met := meet(3)
	submit(t, job, graph.Spec{Op: helpedOp(3, func(c *versions.Call) error {
		c.Parallel(3, func(int, *versions.Workspace) { part() })
		return nil
	})})
	if err := job.Wait(); err != nil || !met() {
		t.Errorf("afterwards: %v, all came: %v", err, met())
	}
}

// TestHelpRecorded: what others did for a task is in traces on their rows, once for
// each phase that they came to, and in the Chrome trace.
func TestHelpRecorded(t *testing.T) {
	const workers, phases = 3, 4
	var r trace.Recorder
	rt := start(t, exec.Options{Workers: workers, Float: true, Recorder: &r})
	op := helpedOp(workers, func(c *versions.Call) error {
		for range phases {
			part, met := meet(workers)
			c.Parallel(workers, func(int, *versions.Workspace) { part() })
			if !met() {
				return errors.New("nobody came to help")
			}
		}
		return nil
	})
	job := rt.NewJob(context.Background())
	id := submit(t, job, graph.Spec{Op: op})
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	rec := r.Recording()
	if len(rec.Events) != 1 || len(rec.Shares) != (workers-1)*phases {
		t.Fatalf("%d events and %d shares", len(rec.Events), len(rec.Shares))
	}
	task := rec.Events[0]
	for _, s := range rec.Shares {
		if s.Worker == task.Worker || s.Task != uint64(id) || s.Op != "helped" || s.Version != "some" ||
			s.Start < task.Start || s.End < s.Start || s.End > task.End {
			t.Errorf("%+v in %+v", s, task)
		}
	}
	var chrome bytes.Buffer
	if err := rec.WriteChrome(&chrome); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(chrome.String(), `"helped`); n < 1+len(rec.Shares) {
		t.Errorf("the Chrome trace has the task %d times", n)
	}
}

// TestHelpTimed: the profile learns what a call costs, whichever workers do it: of a task
// of four parts of 20 ms each, 80 ms.
func TestHelpTimed(t *testing.T) { synctest.Test(t, helpTimed) } // in virtual time

func helpTimed(t *testing.T) {
	const pause, workers = 20 * time.Millisecond, 2
	selector, err := versions.NewSelector(versions.Config{Mode: versions.Static, Measure: true})
	if err != nil {
		t.Fatal(err)
	}
	rt := start(t, exec.Options{Workers: workers, Float: true, Policy: dispatch.EarliestFinish, Selector: selector})
	met := true
	op := helpedOp(workers, func(c *versions.Call) error {
		part, all := meet(workers)
		c.Parallel(4, func(i int, _ *versions.Workspace) {
			if i < 2 {
				part()
			}
			time.Sleep(pause)
		})
		met = met && all()
		return nil
	})
	for range 5 {
		job := rt.NewJob(context.Background())
		submit(t, job, graph.Spec{Op: op})
		if err := job.Wait(); err != nil || !met {
			t.Fatal(err, met)
		}
	}
	want := (4 * pause).Seconds()
	if got := selector.Expect(op, &versions.Call{}, rt.Target()); got < 0.9*want || got > 1.1*want {
		t.Errorf("expects %.3f s of the next call, want about %.3f", got, want)
	}
}
