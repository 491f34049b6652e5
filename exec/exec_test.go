package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opOf returns an op with one version that runs f.
func opOf(name string, f func(*versions.Call) error) *versions.Op {
	return &versions.Op{Name: name, Versions: []versions.Version{{Name: "go", Run: f}}}
}

// start returns a runtime that is closed at the end of the test.
func start(t testing.TB, opt exec.Options) *exec.Local {
	t.Helper()
	rt, err := exec.NewLocal(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt
}

func submit(t testing.TB, job exec.Job, s graph.Spec) graph.TaskID {
	t.Helper()
	id, err := job.Submit(&s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// own stands for a policy that is none of the built-in ones.
const own dispatch.Kind = 200

// policies returns the built-in policies and own.
func policies() []dispatch.Kind { return append(dispatch.Kinds(), own) }

// schedule has a runtime work by a policy.
func schedule(o *exec.Options, kind dispatch.Kind) {
	o.Policy = kind
	if kind == own {
		o.Policy, o.NewPolicy = 0, func(m dispatch.Machine) dispatch.Policy {
			first := max(slices.Index(m.Able, true), 0)
			return hoarder{dispatch.ByScore(func(t *graph.Task, at int) float64 { return float64(int(t.ID()) * (at + 1) % 7) })(m), first}
		}
	}
}

// hoarder leaves every third task to one worker.
type hoarder struct {
	dispatch.Policy
	keeper int
}

func (h hoarder) Pop(worker int) *graph.Task {
	if !h.Wants(worker) {
		return nil
	}
	return h.Policy.Pop(worker)
}

// Wants implements dispatch.Reserver.
func (h hoarder) Wants(worker int) bool { return worker == h.keeper || h.Len()%3 != 0 }

// TestRandomGraphs runs random programs on every policy; every task checks
// that it sees exactly what the sequential program would have it see.
func TestRandomGraphs(t *testing.T) {
	const data, tasks = 12, 1500
	type want struct {
		id    int
		sees  []int
		reads []bool
	}
	for _, kind := range policies() {
		for run := range 6 {
			workers, window := []int{1, 2, 5}[run%3], []int{64, 300}[run/3]
			t.Run(fmt.Sprintf("%v/%d/window=%d", kind, workers, window), func(t *testing.T) {
				t.Parallel()
				o := exec.Options{Workers: workers, Window: window}
				schedule(&o, kind)
				o.Nodes(1 + run%2)
				rt := start(t, o)
				var ran atomic.Int64
				check := opOf("check", func(c *versions.Call) error {
					w := c.Params.(*want)
					for i, a := range c.Args {
						if got := a.(*cell).n; w.reads[i] && got != w.sees[i] {
							return fmt.Errorf("task %d operand %d holds the value of task %d, want %d", w.id, i, got, w.sees[i])
						}
					}
					if w.id%7 == 0 {
						runtime.Gosched()
					}
					ran.Add(1)
					return nil
				})
				// Writing is a second op so that the modes in the graph, not
				// the checks, decide what may be written.
				type role struct {
					want
					writes []bool
					fails  atomic.Int32
				}
				task := opOf("task", func(c *versions.Call) error {
					r := c.Params.(*role)
					sub := *c
					sub.Params = &r.want
					if err := check.Versions[0].Run(&sub); err != nil {
						return err
					}
					for i, a := range c.Args {
						if r.writes[i] {
							a.(*cell).n = r.id
						}
					}
					if r.fails.Add(-1) >= 0 { // it must not see what it has written here
						ran.Add(-1)
						return errRole
					}
					return nil
				})
				rnd := rand.New(rand.NewPCG(uint64(workers), uint64(kind)))
				var d [data]graph.Datum
				var writer [data]int
				for i := range d {
					d[i] = graph.Datum{Value: &cell{}, Bytes: int64(i), Name: "d", Key: graph.Key{I: int32(i)}}
				}
				job := rt.NewJob(context.Background())
				for n := 1; n <= tasks; n++ {
					r := &role{want: want{id: n}}
					s := graph.Spec{Op: task, Params: r, Priority: int64(rnd.IntN(10))}
					for _, k := range rnd.Perm(data)[:rnd.IntN(5)] {
						mode := graph.Mode(1 + rnd.IntN(3))
						s.Operands = append(s.Operands, graph.Operand{Datum: &d[k], Mode: mode})
						r.sees, r.reads = append(r.sees, writer[k]), append(r.reads, mode&graph.In != 0)
						r.writes = append(r.writes, mode&graph.Out != 0)
						if mode&graph.Out != 0 {
							writer[k] = n
						}
					}
					if rnd.IntN(8) == 0 {
						r.fails.Store(int32(1 + rnd.IntN(3)))
						s.Failure = &graph.Failure{Retries: 3}
					}
					submit(t, job, s)
					if n%100 == 0 {
						k := rnd.IntN(data)
						if err := job.WaitOn(&d[k]); err != nil {
							t.Fatal(err)
						}
						if got := d[k].Value.(*cell).n; got != writer[k] {
							t.Fatalf("after WaitOn datum %d holds the value of task %d, want %d", k, got, writer[k])
						}
					}
				}
				if err := job.Wait(); err != nil {
					t.Fatal(err)
				}
				if ran.Load() != tasks || job.Completed() != tasks {
					t.Errorf("%d tasks ran and %d completed, want %d", ran.Load(), job.Completed(), tasks)
				}
			})
		}
	}
}

func TestCancelContext(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2, Window: 100})
	why := errors.New("changed my mind")
	ctx, cancel := context.WithCancelCause(context.Background())
	var ran atomic.Int64
	op := opOf("work", func(c *versions.Call) error {
		if ran.Add(1) == 50 {
			cancel(why)
		}
		return nil
	})
	job := rt.NewJob(ctx)
	var d graph.Datum
	var err error
	n := 0
	for ; n < 1_000_000 && err == nil; n++ {
		_, err = job.Submit(&graph.Spec{Op: op, Operands: []graph.Operand{{Datum: &d, Mode: graph.InOut}}})
	}
	if !errors.Is(err, why) {
		t.Errorf("Submit: %v", err)
	}
	// The last version may have been made before the cancellation took hold.
	if err := job.WaitOn(&d); err != nil && !errors.Is(err, why) {
		t.Errorf("WaitOn: %v", err)
	}
	if err := job.Wait(); !errors.Is(err, why) {
		t.Errorf("Wait: %v", err)
	}
	if ran.Load() > 1000 {
		t.Errorf("%d tasks ran after the context's end", ran.Load())
	}
	if _, err := rt.NewJob(ctx).Submit(&graph.Spec{Op: op}); !errors.Is(err, why) {
		t.Errorf("Submit to a job of a context that has ended: %v", err)
	}
}

func TestClose(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	started := make(chan struct{})
	var once sync.Once
	op := opOf("work", func(c *versions.Call) error {
		once.Do(func() { close(started) })
		<-c.Ctx.Done()
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	job := rt.NewJob(ctx)
	for range 100 {
		submit(t, job, graph.Spec{Op: op})
	}
	<-started
	// Close does not end the context. The caller's does that here, once Close has begun.
	probe := rt.NewJob(context.Background())
	go func() {
		for err := error(nil); err == nil; time.Sleep(time.Millisecond) {
			_, err = probe.Submit(&graph.Spec{Op: empty("probe")})
		}
		cancel()
	}()
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
	if err := job.Wait(); !errors.Is(err, exec.ErrClosed) {
		t.Errorf("Wait after Close: %v", err)
	}
	if _, err := rt.NewJob(context.Background()).Submit(&graph.Spec{Op: op}); !errors.Is(err, exec.ErrClosed) {
		t.Errorf("Submit after Close: %v", err)
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}

// TestWindow checks that no more tasks than the window are in flight, and
// that a long program fits through it.
func TestWindow(t *testing.T) {
	for _, window := range []int{1, 2, 10} {
		rt := start(t, exec.Options{Workers: 2, Window: window})
		var submitted, ended atomic.Int64
		op := opOf("count", func(*versions.Call) error {
			ended.Add(1)
			return nil
		})
		job := rt.NewJob(context.Background())
		var d [3]graph.Datum
		for n := range 2000 {
			submit(t, job, graph.Spec{Op: op, Operands: []graph.Operand{{Datum: &d[n%3], Mode: graph.InOut}}})
			// A task is counted as ended by its function before the runtime
			// takes it out of the window, so this bound is exact.
			if inFlight := submitted.Add(1) - ended.Load(); inFlight > int64(window) {
				t.Fatalf("%d tasks in flight in a window of %d", inFlight, window)
			}
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJobsShareWorkers runs jobs from several goroutines, some of which fail.
func TestJobsShareWorkers(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2, Policy: dispatch.FIFOData})
	errBad := errors.New("bad")
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			var sum int
			d := graph.Datum{Value: &sum}
			op := opOf("add", func(c *versions.Call) error {
				s := c.Args[0].(*int)
				*s++
				if n%2 == 1 && *s == 100 {
					return errBad
				}
				return nil
			})
			job := rt.NewJob(context.Background())
			for range 1000 {
				if _, err := job.Submit(&graph.Spec{Op: op, Operands: []graph.Operand{{Datum: &d, Mode: graph.InOut}}}); err != nil {
					break
				}
			}
			err := job.Wait()
			if n%2 == 0 && (err != nil || sum != 1000) {
				t.Errorf("job %d: %v, sum %d", n, err, sum)
			}
			if n%2 == 1 && (!errors.Is(err, errBad) || sum != 100) {
				t.Errorf("job %d: %v, sum %d", n, err, sum)
			}
		})
	}
	wg.Wait()
}

func TestStoryAndTrace(t *testing.T) {
	rec := &trace.Recorder{}
	rt := start(t, exec.Options{Workers: 1, Stories: 2, Recorder: rec})
	a := graph.Datum{Name: "A", Key: graph.Key{I: 1, J: 2}}
	job := rt.NewJob(context.Background())
	op := empty("potrf")
	op.Type = "f64"
	for range 3 {
		submit(t, job, graph.Spec{Op: op, Operands: []graph.Operand{{Datum: &a, Mode: graph.InOut}}})
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	var none *exec.NoStoryError
	if _, err := job.Story(1); !errors.As(err, &none) {
		t.Errorf("story that was overwritten: %v", err)
	}
	st, err := job.Story(3)
	if err != nil {
		t.Fatal(err)
	}
	text := st.String()
	for _, want := range []string{"task 3: potrf/f64(INOUT A(1,2))", "needs task 2 by A(1,2) v2 (RAW)", "waiting", "ready", "running on worker 0, version go", "done"} {
		if !strings.Contains(text, want) {
			t.Errorf("story lacks %q:\n%s", want, text)
		}
	}
	steps := exec.NewStories(2)
	steps.Submitted(1, &graph.Spec{Op: op})
	for i := range 100 {
		steps.Add(1, exec.Step{Note: fmt.Sprint("step ", i)}, time.Time{})
	}
	if st, err := steps.Get(1); err != nil || len(st.Steps) != 64 || st.Left != 37 || st.Steps[0].State != graph.Waiting || st.Steps[1].Note != "step 37" || !strings.Contains(st.String(), "… 37 steps\n") {
		t.Errorf("a story of 101 steps: %v\n%v", err, st)
	}
	s := rec.Summary()
	if len(s.Usage) != 1 || s.Usage[0].Calls != 3 || s.Usage[0].Op != "potrf/f64" || s.Usage[0].Version != "go" || s.Span <= 0 {
		t.Errorf("summary %+v", s)
	}
	rec.Reset()
	if len(rec.Events()) != 0 {
		t.Error("events left after Reset")
	}
}

func TestOptions(t *testing.T) {
	_, err := exec.NewLocal(exec.Options{Workers: -1, Window: -2, Stories: -3, Policy: 77})
	var oe *exec.OptionsError
	if !errors.As(err, &oe) || len(oe.Problems) != 4 {
		t.Errorf("%v, want four problems", err)
	}
	rt := start(t, exec.Options{Workers: 3, Target: versions.Target{Processor: "KNL", Units: 4}})
	for _, w := range rt.Workers() {
		if w.Target.Processor != "KNL" || w.Target.Units != 4 || w.Target.Arch != runtime.GOARCH {
			t.Errorf("target %+v", w.Target)
		}
	}
}

// TestNoVersion submits an op that nothing here can run.
func TestNoVersion(t *testing.T) {
	rt := start(t, exec.Options{Workers: 1})
	op := empty("exotic")
	op.Versions[0].Constraints = versions.Constraints{Arch: "none"}
	job := rt.NewJob(context.Background())
	submit(t, job, graph.Spec{Op: op})
	var nv *versions.NoVersionError
	if err := job.Wait(); !errors.As(err, &nv) {
		t.Errorf("%v, want a NoVersionError", err)
	}
}

// TestSelection runs an op with two versions and expects the faster one to be
// found, once the job has run for as long as trying it might be worth.
func TestSelection(t *testing.T) {
	sel, err := versions.NewSelector(versions.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rt := start(t, exec.Options{Workers: 2, Selector: sel})
	var slow, fast atomic.Int64
	op := &versions.Op{Name: "race", Versions: []versions.Version{
		{Name: "slow", Run: func(*versions.Call) error { slow.Add(1); time.Sleep(2 * time.Millisecond); return nil }},
		{Name: "fast", Run: func(*versions.Call) error { fast.Add(1); return nil }},
	}}
	job := rt.NewJob(context.Background())
	for range 500 {
		submit(t, job, graph.Spec{Op: op})
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	if slow.Load() > 150 || slow.Load() == 0 {
		t.Errorf("slow version ran %d times of 500, want far fewer", slow.Load())
	}
}
