package exec_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// TestWatchdog: a task that does not end is named once, one that waits for its
// child is not, and nothing is said of those that end in time.
func TestWatchdog(t *testing.T) {
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
func TestWatchdogExcuses(t *testing.T) {
	const after, nap = 320 * time.Millisecond, 80 * time.Millisecond // a busy machine may hold up a nap
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

func TestWatchdogOptions(t *testing.T) {
	for _, w := range []exec.Watchdog{{}, {After: time.Second}, {Report: func(exec.Stuck) {}}} {
		var bad *exec.OptionsError
		if _, err := exec.NewLocal(exec.Options{Watchdog: &w}); !errors.As(err, &bad) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}
