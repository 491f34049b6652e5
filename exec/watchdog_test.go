package exec_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// TestWatchdog: a task that does not end is named once, one that waits for its
// child is not, and nothing is said of those that end in time.
func TestWatchdog(t *testing.T) { synctest.Test(t, watchdog) } // in virtual time

func watchdog(t *testing.T) {
	reports := make(chan exec.Stuck, 10)
	rt := start(t, exec.Options{Workers: 2, Watchdog: &exec.Watchdog{After: 20 * time.Millisecond, Report: func(s exec.Stuck) { reports <- s }}})
	job := rt.NewJob(context.Background())
	for range 100 {
		submit(t, job, graph.Spec{Op: empty("quick")})
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	release := make(chan bool)
	d := graph.Datum{Name: "A", Key: graph.Key{I: 3, J: 2}}
	submit(t, job, graph.Spec{Op: opOf("parent", func(c *versions.Call) error {
		children, err := exec.Nested(c)
		if err != nil {
			return err
		}
		_, err = children.Submit(&graph.Spec{Op: opOf("stuck", func(*versions.Call) error { <-release; return nil }), Operands: []graph.Operand{inout(&d)}})
		return err
	})})
	s := <-reports
	if len(s.Tasks) != 1 || s.Tasks[0].Op != "stuck" || s.Tasks[0].For < 20*time.Millisecond || s.Submitted != 1 {
		t.Errorf("%+v", s)
	}
	if text := s.String(); !strings.Contains(text, "stuck (go)") || !strings.Contains(text, "INOUT A(3,2)") {
		t.Error(text)
	}
	time.Sleep(60 * time.Millisecond)
	close(release)
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(reports) != 0 {
		t.Errorf("reported twice: %v", <-reports)
	}
}

// TestWatchdogExcuses: neither a task that waits for one child after the other
// for longer than a task may run, nor a job whose turn does not come because
// another one keeps all workers busy, is stuck. The runtime may be closed twice.
func TestWatchdogExcuses(t *testing.T) { synctest.Test(t, excuses) } // in virtual time

func excuses(t *testing.T) {
	const after, nap = 160 * time.Millisecond, 80 * time.Millisecond
	rt := start(t, exec.Options{Workers: 1, Policy: dispatch.Priority,
		Watchdog: &exec.Watchdog{After: after, Report: func(s exec.Stuck) { t.Error(s) }}})
	sleep := opOf("sleep", func(*versions.Call) error { time.Sleep(nap); return nil })
	first, second := rt.NewJob(context.Background()), rt.NewJob(context.Background())
	submit(t, first, graph.Spec{Priority: 1, Op: opOf("parent", func(c *versions.Call) error {
		children, err := exec.Nested(c)
		if err != nil {
			return err
		}
		for range 8 {
			if _, err := children.Submit(&graph.Spec{Op: sleep, Priority: 1}); err != nil {
				return err
			}
			if err := children.Wait(); err != nil {
				return err
			}
		}
		return nil
	})})
	submit(t, second, graph.Spec{Op: sleep})
	for range 8 {
		submit(t, first, graph.Spec{Op: sleep, Priority: 1})
	}
	for _, job := range []exec.Job{first, second} {
		if err := job.Wait(); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}
}

// withholds is a policy that keeps its tasks for a worker that is not there, until it is opened.
type withholds struct {
	dispatch.Policy
	open atomic.Bool
}

func (p *withholds) Pop(worker int) *graph.Task {
	if !p.open.Load() {
		return nil
	}
	return p.Policy.Pop(worker)
}

func (p *withholds) Wants(int) bool { return p.open.Load() }

// TestWatchdogPause: the time in which the process stood still counts neither for a task nor
// for a job of which nothing runs. All other time does.
func TestWatchdogPause(t *testing.T) {
	const after = 4 * time.Hour // so the watchdog does not look by itself
	for _, runs := range []bool{true, false} {
		policy := &withholds{}
		policy.open.Store(runs)
		rt := start(t, exec.Options{Workers: 1, Watchdog: &exec.Watchdog{After: after, Report: func(s exec.Stuck) { t.Error(s) }},
			NewPolicy: func(m dispatch.Machine) dispatch.Policy {
				policy.Policy = dispatch.New(dispatch.FIFO, m)
				return policy
			}})
		job, began, release := rt.NewJob(context.Background()), make(chan bool), make(chan bool)
		submit(t, job, graph.Spec{Op: opOf("holds", func(*versions.Call) error { close(began); <-release; return nil })})
		if runs {
			<-began
		} else {
			for rt.Sleeping() == 0 { // or it may be about to ask
				time.Sleep(time.Millisecond)
			}
		}
		looks, now := rt.Looks(), time.Now()
		look := func(pause time.Duration) []exec.Stuck {
			last := now
			now = now.Add(time.Hour + pause)
			return looks(last, now)
		}
		found := look(0)
		for range 2 { // an hour in which it could run, and 20 in which it could not
			found = append(found, look(20*time.Hour)...)
		}
		if len(found) != 0 {
			t.Errorf("runs %v: %v", runs, found)
		}
		for range 3 {
			found = append(found, look(0)...)
		}
		if len(found) != 1 || len(found[0].Tasks) == 1 != runs { // and the task has to end
			t.Errorf("runs %v: %v", runs, found)
		} else if runs && (found[0].Tasks[0].For < after || found[0].Tasks[0].For > after+2*time.Hour) {
			t.Error(found[0])
		}
		policy.open.Store(true)
		submit(t, job, graph.Spec{Op: empty("wakes")})
		close(release)
		if err := job.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func TestWatchdogOptions(t *testing.T) {
	for _, w := range []exec.Watchdog{{}, {After: time.Second}, {Report: func(exec.Stuck) {}}} {
		var bad *exec.OptionsError
		if _, err := exec.NewLocal(exec.Options{Watchdog: &w}); !errors.As(err, &bad) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}
