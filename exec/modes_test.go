package exec_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// TestModes runs a histogram three ways: by tasks that commute, by a reduction,
// and into values that are renamed while readers still look at them.
func TestModes(t *testing.T) {
	const n = 300
	for _, kind := range dispatch.Kinds() {
		rt := start(t, exec.Options{Workers: 3, Policy: kind, Window: 40})
		job := rt.NewJob(context.Background())
		var inside atomic.Int32
		commuted := graph.Datum{Value: new(int)}
		reduced := graph.Datum{Value: new(int)}
		var copies atomic.Int32
		reduced.SetReduction(graph.Reduction{
			New:     func() any { copies.Add(1); return new(int) },
			Combine: func(dst, src any) { *dst.(*int) += *src.(*int) },
		})
		renamed := graph.Datum{Value: new(int), Bytes: 8}
		renamed.SetRenaming(func() any { return new(int) })
		add := opOf("add", func(c *versions.Call) error {
			if inside.Add(1) != 1 {
				return errors.New("two tasks commute at once")
			}
			*c.Args[0].(*int) += *c.Params.(*int)
			runtime.Gosched()
			inside.Add(-1)
			return nil
		})
		gather := opOf("gather", func(c *versions.Call) error { *c.Args[0].(*int) += *c.Params.(*int); return nil })
		write := opOf("write", func(c *versions.Call) error { *c.Args[0].(*int) = *c.Params.(*int); return nil })
		look := opOf("look", func(c *versions.Call) error {
			if got, want := *c.Args[0].(*int), *c.Params.(*int); got != want {
				return errors.New("a reader of a renamed datum sees another value")
			}
			return nil
		})
		for i := range n {
			submit(t, job, graph.Spec{Op: add, Params: &i, Operands: []graph.Operand{{Datum: &commuted, Mode: graph.Commute}}})
			submit(t, job, graph.Spec{Op: gather, Params: &i, Operands: []graph.Operand{{Datum: &reduced, Mode: graph.Reduce}}})
			submit(t, job, graph.Spec{Op: write, Params: &i, Operands: []graph.Operand{out(&renamed)}})
			for range 2 {
				submit(t, job, graph.Spec{Op: look, Params: &i, Operands: []graph.Operand{in(&renamed)}})
			}
		}
		if err := job.Wait(); err != nil {
			t.Fatalf("%v: %v", kind, err)
		}
		const want = n * (n - 1) / 2
		if *commuted.Value.(*int) != want || *reduced.Value.(*int) != want || *renamed.Latest().(*int) != n-1 {
			t.Errorf("%v: %d, %d, %d, want %d twice and %d", kind, *commuted.Value.(*int), *reduced.Value.(*int), *renamed.Latest().(*int), want, n-1)
		}
		if c := job.Copies(); c.Live != 1 || c.Peak < 2 || c.PeakBytes < 8 {
			t.Errorf("%v: %+v, want the last renamed value only", kind, c)
		}
		if copies.Load() > 3 {
			t.Errorf("%v: %d copies for 3 workers", kind, copies.Load())
		}
		rt.Close()
	}
}

// TestModesPanic: panics of the functions that make values are failures of the
// tasks that need them.
func TestModesPanic(t *testing.T) {
	bad := errors.New("bad")
	fail := func() any { panic(bad) }
	for _, mode := range []graph.Mode{graph.Reduce, graph.Out} {
		rt := start(t, exec.Options{Workers: 1})
		job := rt.NewJob(context.Background())
		d := graph.Datum{Value: new(int)}
		if mode == graph.Out {
			d.SetRenaming(fail)
		} else {
			d.SetReduction(graph.Reduction{New: fail, Combine: func(any, any) {}})
		}
		submit(t, job, graph.Spec{Op: empty("t"), Operands: []graph.Operand{{Datum: &d, Mode: mode}}})
		var te *exec.TaskError
		if err := job.Wait(); !errors.Is(err, bad) || !errors.As(err, &te) || te.Task != 1 {
			t.Errorf("%v: %v", mode, err)
		}
	}
}

// TestReductionPanics: a Combine that panics is the job's error.
func TestReductionPanics(t *testing.T) {
	rt := start(t, exec.Options{Workers: 1})
	job := rt.NewJob(context.Background())
	bad := errors.New("bad")
	d := graph.Datum{Value: new(int)}
	d.SetReduction(graph.Reduction{New: func() any { return new(int) }, Combine: func(any, any) { panic(bad) }})
	submit(t, job, graph.Spec{Op: empty("gather"), Operands: []graph.Operand{{Datum: &d, Mode: graph.Reduce}}})
	var te *exec.TaskError
	if err := job.Wait(); !errors.Is(err, bad) || !errors.As(err, &te) || te.Op != "reduction" || te.Task != 1 {
		t.Errorf("%v", err)
	}
}
