package exec_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/sched"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

// TestRecording checks what a runtime records of the graph of a Cholesky
// factorization: every edge leads from a task that has ended to one that was
// not ready before, and times are in order.
func TestRecording(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, kind := range sched.Kinds() {
		r := trace.Recorder{Dependencies: true}
		rt, err := exec.NewLocal(exec.Options{Workers: 3, Policy: kind, Recorder: &r, Window: 20, Stories: 5})
		if err != nil {
			t.Fatal(err)
		}
		job := rt.NewJob(context.Background())
		n := newCholeskyOps().submit(t, job, 8)
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		rt.Close()
		if c := r.Counts(); c != (trace.Counts{Submitted: int64(n), Ended: int64(n), Attempts: int64(n)}) {
			t.Errorf("%v: counts %+v after %d tasks", kind, c, n)
		}
		for w, run := range r.Running() {
			if run != nil {
				t.Errorf("%v: worker %d is still at %+v", kind, w, run)
			}
		}
		rec := r.Recording()
		if len(rec.Events) != n || len(rec.Edges) == 0 || rec.Workers != 3 {
			t.Fatalf("%v: %d events of %d tasks, %d edges, %d workers", kind, len(rec.Events), n, len(rec.Edges), rec.Workers)
		}
		tasks := map[uint64]trace.Event{}
		for _, e := range rec.Events {
			tasks[e.Task] = e
			if e.Submitted <= 0 || e.Ready < e.Submitted || e.Start < e.Ready || e.End < e.Start {
				t.Errorf("%v: task %d: submitted %v, ready %v, start %v, end %v", kind, e.Task, e.Submitted, e.Ready, e.Start, e.End)
			}
		}
		for _, d := range rec.Edges {
			if from, to := tasks[d.From], tasks[d.To]; from.End > to.Start || from.End > to.Ready {
				t.Errorf("%v: %d → %d: ends %v, ready %v, starts %v", kind, d.From, d.To, from.End, to.Ready, to.Start)
			}
		}
		if p := rec.CriticalPath(); len(p.Tasks) < 8 {
			t.Errorf("%v: a critical path of %d tasks", kind, len(p.Tasks))
		}
	}
}

// TestRecordedPause: with room for one task, submission stands still while the
// task runs.
func TestRecordedPause(t *testing.T) {
	var r trace.Recorder
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Recorder: &r, Window: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	nap := &versions.Op{Name: "nap", Versions: []versions.Version{{Name: "go", Run: func(*versions.Call) error {
		time.Sleep(2 * time.Millisecond)
		return nil
	}}}}
	job := rt.NewJob(context.Background())
	for range 2 {
		if _, err := job.Submit(&graph.Spec{Op: nap}); err != nil {
			t.Fatal(err)
		}
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	p := r.Recording().Pauses
	if len(p) != 1 || p[0].End-p[0].Start < time.Millisecond {
		t.Errorf("pauses %v, want one of about 2 ms", p)
	}
}

// TestCounts: what is counted while one task runs, one is ready and one waits,
// and after a failure that cancels the rest.
func TestCounts(t *testing.T) {
	var r trace.Recorder
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Recorder: &r})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	begun, end := make(chan bool), make(chan error)
	block := &versions.Op{Name: "block", Versions: []versions.Version{{Name: "go", Run: func(*versions.Call) error {
		begun <- true
		return <-end
	}}}}
	d := &graph.Datum{}
	job := rt.NewJob(context.Background())
	for _, s := range []graph.Spec{
		{Op: block, Operands: []graph.Operand{{Datum: d, Mode: graph.Out}}},
		{Op: empty("next"), Operands: []graph.Operand{{Datum: d, Mode: graph.In}}},
		{Op: empty("other")},
	} {
		if _, err := job.Submit(&s); err != nil {
			t.Fatal(err)
		}
	}
	<-begun
	if c := r.Counts(); c != (trace.Counts{Submitted: 3, Waiting: 1, Ready: 1, Running: 1}) {
		t.Errorf("%+v", c)
	}
	if run := r.Running()[0]; run == nil || run.Op != "block" || run.Version != "go" || run.Task != 1 {
		t.Errorf("running: %+v", run)
	}
	end <- errors.New("no")
	if err := job.Wait(); err == nil {
		t.Error("no error")
	}
	if c := r.Counts(); c != (trace.Counts{Submitted: 3, Ended: 3, Attempts: 1}) {
		t.Errorf("at the end: %+v", c)
	}
}

// TestDependenceKinds holds the kinds that trace has to the graph's.
func TestDependenceKinds(t *testing.T) {
	for _, k := range []graph.Dependence{graph.RAW, graph.WAR, graph.WAW} {
		if got := trace.Dependence(k).String(); got != k.String() {
			t.Errorf("%v became %v", k, got)
		}
	}
}
