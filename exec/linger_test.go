package exec_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// One worker of two goes on looking for tasks when a job has ended. The next job
// finds it there, and Close ends it.
func TestLinger(t *testing.T) {
	rt, meet := lingerer(t)
	next := func() {
		within(t, func() {
			job := rt.NewJob(context.Background())
			meet(job)
			if err := job.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	// Not after the first job if it ends before somebody waits for it.
	stays := func() bool {
		next()
		time.Sleep(20 * time.Millisecond)
		return rt.Looking() == 1
	}
	eventually(t, "one worker goes on looking for tasks", stays)
	eventually(t, "one does after another job", stays)
	within(t, func() { rt.Close() })
}

// No worker lingers while somebody may be about to submit more.
func TestLingerSubmitting(t *testing.T) {
	rt, meet := lingerer(t)
	job := rt.NewJob(context.Background())
	meet(job)
	eventually(t, "all tasks end", func() bool { return job.Completed() == 2 })
	eventually(t, "no worker looks for tasks", func() bool { return rt.Looking() == 0 })
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
}

// Who waits for a job finds a processor when that has ended, although one worker has a task of
// another job: the one without a task does not linger.
func TestLingerLeavesProcessor(t *testing.T) {
	rt, _ := lingerer(t)
	for range 15 {
		job, other := rt.NewJob(context.Background()), rt.NewJob(context.Background())
		begun, end := make(chan struct{}), make(chan struct{})
		submit(t, other, graph.Spec{Op: opOf("long", func(*versions.Call) error { close(begun); <-end; return nil })})
		over := make(chan error)
		go func() { over <- other.Wait() }()
		<-begun
		submit(t, job, graph.Spec{Op: opOf("short", func(*versions.Call) error { return nil })})
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the worker without a task leaves its processor", func() bool { return rt.Looking() == 0 })
		close(end)
		if err := <-over; err != nil {
			t.Fatal(err)
		}
	}
}

// lingerer returns a runtime of two workers on two processors that linger for an
// hour, and a function that submits a task for each of them.
func lingerer(t *testing.T) (rt *exec.Local, meet func(exec.Job)) {
	procs := runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
	o := exec.Options{Workers: 2}
	o.Linger(time.Hour)
	return start(t, o), func(job exec.Job) {
		var here atomic.Int32
		both := make(chan struct{})
		op := opOf("meet", func(*versions.Call) error {
			if here.Add(1) == 2 {
				close(both)
			}
			<-both
			return nil
		})
		for range 2 {
			submit(t, job, graph.Spec{Op: op})
		}
	}
}

// eventually waits until done reports true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !done(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
