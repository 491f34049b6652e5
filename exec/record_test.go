package exec_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

// TestRecording checks what a runtime records of the graph of a Cholesky
// factorization: every edge leads from a task that has ended to one that was
// not ready before, and times are in order.
func TestRecording(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, kind := range dispatch.Kinds() {
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

// TestCountedWork: what ops say of their work is counted of attempts that succeed, whether the
// selector asks for it or not, and what is no work adds nothing.
func TestCountedWork(t *testing.T) {
	var r trace.Recorder
	rt, err := exec.NewLocal(exec.Options{Workers: 2, Recorder: &r})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	good, bad := func(*versions.Call) error { return nil }, func(*versions.Call) error { return errors.New("no") }
	op := func(work func(*versions.Call) float64, run ...func(*versions.Call) error) *versions.Op {
		o := &versions.Op{Name: "work", Work: work}
		for i, f := range run {
			o.Versions = append(o.Versions, versions.Version{Name: string(rune('a' + i)), Run: f})
		}
		return o
	}
	says := func(x float64) func(*versions.Call) float64 { return func(*versions.Call) float64 { return x } }
	for _, o := range []*versions.Op{
		op(says(3), good),
		op(says(500), good, good),
		op(nil, good, good),
		op(says(math.NaN()), good),
		op(says(math.Inf(1)), good),
		op(says(-1), good),
		op(func(*versions.Call) float64 { panic("no work") }, good),
		op(says(7000), bad),
	} {
		job := rt.NewJob(context.Background())
		for range 10 {
			if _, err := job.Submit(&graph.Spec{Op: o}); err != nil {
				break // after the first failure
			}
		}
		if err := job.Wait(); err != nil && o.Versions[0].Run(nil) == nil {
			t.Error(err)
		}
	}
	if c := r.Counts(); c.Work != 5030 {
		t.Errorf("work %v, want 5030", c.Work)
	}
}

// edgeList is a graph.Observer that keeps edges as a recording has them.
type edgeList []trace.Edge

func (l *edgeList) Depends(on, task graph.TaskID, kind graph.Dependence, d *graph.Datum, _ uint32) {
	*l = append(*l, trace.Edge{From: uint64(on), To: uint64(task), Kind: kind, Bytes: d.Bytes})
}

// TestRecordedEdges: a recording has the edges of each job, of children's too, as a
// graph tells an observer that runs none of the tasks.
func TestRecordedEdges(t *testing.T) {
	defer goleak.VerifyNone(t)
	// program calls add for each task of a random program.
	program := func(seed uint64, add func(graph.Spec)) {
		r := rand.New(rand.NewPCG(seed, 6))
		data := make([]graph.Datum, 1+r.IntN(6))
		for i := range data {
			data[i].Value = new(cell)
			data[i].SetReduction(graph.Reduction{New: func() any { return new(cell) }, Combine: func(dst, src any) {}})
			if r.IntN(3) == 0 {
				data[i].SetRenaming(func() any { return new(cell) })
			}
		}
		modes := []graph.Mode{graph.In, graph.In, graph.Out, graph.InOut, graph.Commute, graph.Reduce}
		for range 1 + r.IntN(60) {
			var s graph.Spec
			for _, k := range r.Perm(len(data))[:r.IntN(len(data)+1)] {
				s.Operands = append(s.Operands, graph.Operand{Datum: &data[k], Mode: modes[r.IntN(len(modes))]})
			}
			add(s)
		}
	}
	leaf := opOf("leaf", func(call *versions.Call) error {
		if len(call.Args) > 0 {
			call.Finished(0)
		}
		return nil
	})
	seed := atomic.Uint64{}
	parent := opOf("parent", func(call *versions.Call) error {
		job, err := exec.Nested(call)
		if err != nil {
			return err
		}
		program(seed.Add(1), func(s graph.Spec) {
			s.Op = leaf
			if _, err := job.Submit(&s); err != nil {
				t.Error(err)
			}
		})
		return nil
	})
	r := trace.Recorder{Dependencies: true}
	rt, err := exec.NewLocal(exec.Options{Workers: 3, Recorder: &r, Window: 30})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	var wait sync.WaitGroup
	for range 4 { // jobs at once
		job, own := rt.NewJob(context.Background()), seed.Add(1)
		wait.Go(func() {
			n := 0
			program(own, func(s graph.Spec) {
				s.Op = leaf
				if n++; n%4 == 0 && len(s.Operands) == 0 {
					s.Op = parent
				}
				if _, err := job.Submit(&s); err != nil {
					t.Error(err)
				}
				if n%20 == 0 {
					r.Recording() // at any time
				}
			})
			if err := job.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	var want, got []edgeList
	for s := range seed.Load() {
		var l edgeList
		g := graph.Graph{Observer: &l}
		program(s+1, func(s graph.Spec) {
			s.Op = leaf
			g.Add(&s)
		})
		if len(l) > 0 {
			want = append(want, l)
		}
	}
	last := uint64(0)
	for _, e := range r.Recording().Edges {
		if e.Job != last {
			got = append(got, nil)
		}
		last, e.Job = e.Job, 0
		got[len(got)-1] = append(got[len(got)-1], e)
	}
	order := func(a, b edgeList) int {
		return slices.CompareFunc(a, b, func(x, y trace.Edge) int {
			return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To), cmp.Compare(x.Kind, y.Kind))
		})
	}
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if len(want) < 5 || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("edges of %d jobs, want %d:\n%v\nwant\n%v", len(got), len(want), got, want)
	}
}

// TestResetOfRecorder: after a Reset there are the edges of later tasks only, those
// from earlier tasks, too.
func TestResetOfRecorder(t *testing.T) {
	r := trace.Recorder{Dependencies: true}
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Recorder: &r})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	job, d := rt.NewJob(context.Background()), &graph.Datum{Bytes: 800}
	for n := uint64(1); n <= 3; n++ {
		if _, err := job.Submit(&graph.Spec{Op: empty("x"), Operands: []graph.Operand{{Datum: d, Mode: graph.InOut}}}); err != nil {
			t.Fatal(err)
		}
		var want []trace.Edge
		if n > 1 {
			want = []trace.Edge{{Job: 1, From: n - 1, To: n, Bytes: 800}}
		}
		if got := r.Recording().Edges; !slices.Equal(got, want) {
			t.Errorf("after task %d: %v, want %v", n, got, want)
		}
		r.Reset()
		if got := r.Recording().Edges; len(got) > 0 {
			t.Errorf("after Reset: %v", got)
		}
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestReadWhileRecorded: what a task takes is not what its worker waits for one who
// copies what was recorded.
func TestReadWhileRecorded(t *testing.T) {
	var r trace.Recorder
	sink := r.Sink(0)
	for range 150_000 { // to copy these takes more than ten milliseconds
		sink(trace.Event{})
	}
	first := r.Now()
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Recorder: &r})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	var over atomic.Bool
	var wait sync.WaitGroup
	var copies, copying time.Duration
	wait.Go(func() {
		for began := time.Now(); !over.Load(); copying = time.Since(began) {
			r.Events()
			copies++
		}
	})
	job := rt.NewJob(context.Background())
	for range 9 {
		time.Sleep(3 * time.Millisecond) // most of them begin in the middle of a copy
		if _, err := job.Submit(&graph.Spec{Op: empty("x")}); err != nil {
			t.Fatal(err)
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	over.Store(true)
	wait.Wait()
	var took []time.Duration
	for _, e := range r.After(first, 9) {
		took = append(took, e.End-e.Start)
	}
	slices.Sort(took)
	// A task that waits for a copy waits for half of it in the mean. A slow machine makes both longer.
	if len(took) != 9 || took[4] > copying/copies/4 {
		t.Errorf("tasks that do nothing take %v, a copy %v", took, copying/copies)
	}
}
