package exec_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// TestAcceleratorNested: children run on accelerators, and their parents and who
// comes after these find the values on the host, also what is handed on early.
func TestAcceleratorNested(t *testing.T) {
	for _, kind := range []dispatch.Kind{dispatch.Priority, dispatch.EarliestFinish} {
		fakes, all := accelerators(t, 2, 4, 7)
		rt := start(t, exec.Options{Workers: 2, Policy: kind, Accelerators: all, Selector: measuring(t)})
		child := &versions.Op{Name: "child", Versions: []versions.Version{{Name: "fake", Constraints: versions.Constraints{Kind: "fake"}, Run: func(c *versions.Call) error {
			c.Device.(*fakeQueue).Do(func(v []*int) error { *v[0]++; return nil })
			return nil
		}}}}
		// A parent adds 4 to its first operand by children on the cell itself, and
		// to its second by children on parts of it, which it hands on.
		parent := opOf("parent", func(c *versions.Call) error {
			children, err := exec.Nested(c)
			if err != nil {
				return err
			}
			d := graph.Datum{Value: c.Args[0]}
			e := graph.Datum{Value: c.Args[1]}
			for range 4 {
				for _, x := range []*graph.Datum{&e, &d} {
					if _, err := children.Submit(&graph.Spec{Op: child, Operands: []graph.Operand{inout(x)}}); err != nil {
						return err
					}
				}
			}
			children.Hand(&e, 1)
			if c.Params != nil {
				return children.Wait()
			}
			return nil
		})
		var d, e graph.Datum
		d.Value, e.Value = &cell{}, &cell{}
		job := rt.NewJob(context.Background())
		for n := range 10 {
			var wait any
			if n%2 == 0 {
				wait = true
			}
			submit(t, job, graph.Spec{Op: parent, Params: wait, Operands: []graph.Operand{inout(&d), inout(&e)}})
			// Between two parents, on an accelerator or a host.
			add := child
			if n%3 == 0 {
				add = opOf("add", func(c *versions.Call) error { c.Args[0].(*cell).n++; return nil })
			}
			submit(t, job, graph.Spec{Op: add, Operands: []graph.Operand{inout(&e)}})
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		if a, b := d.Value.(*cell).n, e.Value.(*cell).n; a != 40 || b != 50 {
			t.Errorf("%v: got %d and %d, want 40 and 50", kind, a, b)
		}
		for _, a := range fakes {
			a.empty(t)
		}
	}
}

// TestAcceleratorModes: what is reduced or renamed stays on the host, and finds
// there what accelerators have made.
func TestAcceleratorModes(t *testing.T) {
	fakes, all := accelerators(t, 1, 4, 7)
	rt := start(t, exec.Options{Workers: 2, Accelerators: all})
	var onDevice, onHost atomic.Int32
	add := &versions.Op{Name: "add", Versions: []versions.Version{
		{Name: "fake", Constraints: versions.Constraints{Kind: "fake"}, Run: func(c *versions.Call) error {
			onDevice.Add(1)
			c.Device.(*fakeQueue).Do(func(v []*int) error { *v[0]++; return nil })
			return nil
		}},
		{Name: "go", Run: func(c *versions.Call) error { onHost.Add(1); c.Args[0].(*cell).n++; return nil }}}}
	// Only the accelerator makes the values that the others find.
	make1 := &versions.Op{Name: "make", Versions: add.Versions[:1]}
	var sum, turn, named graph.Datum
	sum.Value, turn.Value, named.Value = &cell{}, &cell{}, &cell{}
	sum.SetReduction(graph.Reduction{New: func() any { return &cell{} }, Combine: func(dst, src any) { dst.(*cell).n += src.(*cell).n }})
	named.SetRenaming(func() any { return &cell{} })
	job := rt.NewJob(context.Background())
	for range 5 {
		submit(t, job, graph.Spec{Op: make1, Operands: []graph.Operand{inout(&turn)}})
		submit(t, job, graph.Spec{Op: add, Operands: []graph.Operand{inout(&named)}})
		for range 4 {
			submit(t, job, graph.Spec{Op: add, Operands: []graph.Operand{{Datum: &turn, Mode: graph.Commute}}})
			submit(t, job, graph.Spec{Op: add, Operands: []graph.Operand{{Datum: &sum, Mode: graph.Reduce}}})
		}
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	if turn.Value.(*cell).n != 25 || sum.Value.(*cell).n != 20 || named.Latest().(*cell).n != 5 {
		t.Errorf("got %v, %v and %v", turn.Value, sum.Value, named.Latest())
	}
	fakes[0].empty(t)
}
