package exec_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// xeonAndKNL declares workers of two kinds.
func xeonAndKNL() []exec.Resource {
	return []exec.Resource{
		{Workers: 2, Target: versions.Target{Processor: "Xeon 6126"}},
		{Workers: 1, Target: versions.Target{Processor: "Xeon Phi 7210 (KNL)"}},
	}
}

// forProcessors returns an op with a version for each processor.
func forProcessors(name string, run func(*versions.Call) error, processors ...string) *versions.Op {
	op := &versions.Op{Name: name}
	for _, p := range processors {
		op.Versions = append(op.Versions, versions.Version{Name: p, Constraints: versions.Constraints{Processor: p}, Run: run})
	}
	return op
}

// onFakeOf is roleOp for accelerators of one kind.
func onFakeOf(processor string) *versions.Op {
	return &versions.Op{Name: processor, Versions: []versions.Version{{Name: processor,
		Constraints: versions.Constraints{Kind: "fake", Processor: processor}, Run: onFake}}}
}

// TestUnlikeWorkers runs random programs whose tasks fail now and then on workers of
// two kinds, and on accelerators of two kinds beside them, under every policy: each
// task runs where it can.
func TestUnlikeWorkers(t *testing.T) {
	for _, kind := range policies() {
		for _, devices := range []int{0, 2} {
			t.Run(fmt.Sprintf("%v/%d", kind, devices), func(t *testing.T) {
				t.Parallel()
				fakes, all := accelerators(t, devices, 6, uint64(kind))
				ops := []*versions.Op{forProcessors("both", onHost, "6126", "KNL"), forProcessors("xeon", onHost, "6126"), forProcessors("knl", onHost, "KNL")}
				for i, f := range fakes {
					f.target = &versions.Target{Kind: "fake", Processor: []string{"small", "large"}[i]}
					ops = append(ops, onFakeOf(f.target.Processor))
				}
				events := &trace.Recorder{}
				o := exec.Options{Resources: xeonAndKNL(), Accelerators: all, Window: 64, Selector: measuring(t), Recorder: events, Watchdog: watch(t)}
				schedule(&o, kind)
				rt := start(t, o)
				p := newProgram(uint64(kind), 12, ops...)
				p.fails = true
				job := rt.NewJob(context.Background())
				for range 600 {
					if err := p.submit(job); err != nil {
						t.Fatal(err)
					}
				}
				if err := job.Wait(); err != nil {
					t.Fatal(err)
				}
				p.check(t)
				ran := map[string]int{}
				for _, e := range events.Recording().Events {
					on := rt.Workers()[e.Worker].Target
					if !strings.Contains(on.Processor, e.Version) {
						t.Fatalf("version %s ran on %s", e.Version, on.Processor)
					}
					ran[e.Op+" on "+e.Version]++
				}
				if len(ran) < 3+devices {
					t.Errorf("ran: %v", ran)
				}
			})
		}
	}
}

// TestNobodyStandsBehind: tasks that no idle worker can run do not hold up those that
// one can.
func TestNobodyStandsBehind(t *testing.T) {
	for _, kind := range policies() {
		o := exec.Options{Resources: xeonAndKNL(), Watchdog: watch(t)}
		schedule(&o, kind)
		rt := start(t, o)
		gate := make(chan struct{})
		blocked := forProcessors("blocked", func(*versions.Call) error { <-gate; return nil }, "6126")
		opens := forProcessors("opens", func(*versions.Call) error { close(gate); return nil }, "KNL")
		job := rt.NewJob(context.Background())
		for range 20 {
			submit(t, job, graph.Spec{Op: blocked, Priority: 1})
		}
		submit(t, job, graph.Spec{Op: opens})
		if err := job.Wait(); err != nil {
			t.Errorf("%v: %v", kind, err)
		}
	}
}

// TestConstraintsOfTasks: a task goes to workers that meet its own constraints, and
// is refused at once if there are none.
func TestConstraintsOfTasks(t *testing.T) {
	events := &trace.Recorder{}
	rt := start(t, exec.Options{Resources: xeonAndKNL(), Recorder: events, Watchdog: watch(t)})
	anywhere, never := empty("anywhere"), forProcessors("never", nil, "VAX")
	job := rt.NewJob(context.Background())
	for i := range 60 {
		submit(t, job, graph.Spec{Op: anywhere, Constraints: &versions.Constraints{Processor: []string{"KNL", "6126"}[i%2]}})
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Recording().Events {
		if knl := e.Worker == 2; knl != (e.Task%2 == 1) {
			t.Errorf("task %d ran on worker %d", e.Task, e.Worker)
		}
	}
	var none *versions.NoVersionError
	if _, err := job.Submit(&graph.Spec{Op: anywhere, Constraints: &versions.Constraints{Memory: 1 << 60}}); !errors.As(err, &none) || !strings.Contains(err.Error(), "needs 1 EiB of memory, this worker has ") {
		t.Errorf("too much memory: %v", err)
	}
	if _, err := job.Submit(&graph.Spec{Op: never}); err == nil {
		err = job.Wait()
		if none = nil; !errors.As(err, &none) || strings.Count(err.Error(), "VAX") < 2 {
			t.Errorf("no version: %v", err)
		}
	}
	defer func() {
		if v := recover(); v != exec.ErrConstraints {
			t.Errorf("got %v", v)
		}
	}()
	rt.NewJob(context.Background()).Submit(&graph.Spec{Op: anywhere, Constraints: 7})
}
