package sim_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/versions"
)

// brood is an op whose tasks have children.
var brood = &versions.Op{Name: "brood", Type: "f64", Versions: op.Versions}

func datum(n int) *graph.Datum {
	return &graph.Datum{Name: "x", Key: graph.Key{I: int32(n)}, Bytes: 1000, Value: new(int)}
}

func writes(d *graph.Datum) []graph.Operand { return []graph.Operand{{Datum: d, Mode: graph.Out}} }

// TestBody: children run beside one another on the workers of their node, a body goes on when what
// it waits for is so, and the parent ends with the last child.
func TestBody(t *testing.T) {
	m := machine(1, 4)
	m.Kinds[0].Speeds = []sim.Speed{{Op: "brood/f64", Points: []sim.Point{{Work: 1, Alone: 0.5, All: 0.5}}}}
	body := func(_ *versions.Call, in exec.Job) error {
		for i := range 8 { // two rounds of a second
			if _, err := in.Submit(&graph.Spec{Op: op, Params: &work{100}, Operands: writes(datum(i))}); err != nil {
				return err
			}
		}
		if err := in.Wait(); err != nil {
			return err
		}
		_, err := in.Submit(&graph.Spec{Op: op, Params: &work{100}, Operands: writes(datum(0))})
		return err
	}
	rt, err := sim.New(sim.Options{Machine: m, Bodies: map[*versions.Op]sim.Body{brood: body}})
	if err != nil {
		t.Fatal(err)
	}
	j := rt.NewJob(context.Background())
	x := datum(0)
	for _, s := range []graph.Spec{{Op: brood, Operands: writes(x)}, {Op: op, Params: &work{100}, Operands: []graph.Operand{{Datum: x, Mode: graph.In}}}} {
		if _, err := j.Submit(&s); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	// The parent's own half second, two rounds, one more, and the task that reads what the parent makes.
	if p := rt.Prediction(); math.Abs(p.Seconds-4.5) > 1e-9 || p.Tasks != 11 || math.Abs(p.Sum().Busy-10.5) > 1e-9 {
		t.Errorf("%d tasks, %g s, busy for %g s: want 11, 4.5 and 10.5", p.Tasks, p.Seconds, p.Sum().Busy)
	}
}

// tree is a driver that does not compute, so many nodes, and below each of them so many others.
func tree(heads, below, workers int) *sim.Machine {
	m := machine(1+heads, workers)
	m.Apart = true
	m.Nodes = []sim.Nodes{{Kind: "x", Count: 1}, {Kind: "x", Count: heads, Name: "heads", Drives: true}}
	if below > 0 {
		m.Nodes = append(m.Nodes, sim.Nodes{Kind: "x", Count: heads * below, Below: "heads"})
	}
	return m
}

// families runs so many tasks with so many children each.
func families(t *testing.T, m *sim.Machine, parents, children int) *sim.Prediction {
	t.Helper()
	body := func(c *versions.Call, in exec.Job) error {
		for i := range children {
			if _, err := in.Submit(&graph.Spec{Op: op, Params: &work{50}, Operands: writes(datum(i))}); err != nil {
				return err
			}
		}
		return nil
	}
	rt, err := sim.NewCluster(sim.Options{Machine: m, Bodies: map[*versions.Op]sim.Body{brood: body}, Nodes: cluster.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	j := rt.NewJob(context.Background())
	for i := range parents {
		if _, err := j.Submit(&graph.Spec{Op: brood, Operands: writes(datum(i))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	return rt.Prediction()
}

// TestTree: the children of a task run on the nodes below the one that has it, and nowhere else; the
// driver's part is that of the parents.
func TestTree(t *testing.T) {
	const heads, below, workers, parents, children = 2, 3, 4, 2, 64
	m := tree(heads, below, workers)
	m.Costs.Driver = 0.001
	p := families(t, m, parents, children)
	if p.Tasks != parents*(1+children) {
		t.Fatalf("%d tasks have ended, want %d", p.Tasks, parents*(1+children))
	}
	nodes := p.Nodes
	if nodes[0].Tasks != 0 {
		t.Errorf("the driver has executed %d tasks", nodes[0].Tasks)
	}
	for h := range heads {
		sum := nodes[1+h].Tasks
		for i := range below {
			n := nodes[1+heads+h*below+i]
			if sum += n.Tasks; n.Tasks == 0 {
				t.Errorf("node %d below head %d has executed nothing", i, h)
			}
		}
		if sum != 1+children {
			t.Errorf("head %d and those below it have executed %d tasks, want %d", h, sum, 1+children)
		}
	}
	// Four times as many workers, and one driver for each two families.
	if alone := families(t, tree(heads, 0, workers), parents, children); p.Seconds > alone.Seconds/2.5 {
		t.Errorf("%g s with nodes below, %g s without", p.Seconds, alone.Seconds)
	}
	if again := families(t, m, parents, children); again.Seconds != p.Seconds {
		t.Errorf("%v s, and then %v s", p.Seconds, again.Seconds)
	}
}

// TestBodyFails: the error of a body is that of its task, and what waits then does not for ever.
func TestBodyFails(t *testing.T) {
	wrong := errors.New("wrong")
	body := func(c *versions.Call, in exec.Job) error {
		if c.Args[0].(*int) == nil {
			return wrong
		}
		in.Submit(&graph.Spec{Op: op, Params: &work{1e6}, Operands: writes(datum(0))})
		return in.Wait()
	}
	rt, err := sim.NewCluster(sim.Options{Machine: tree(2, 1, 2), Bodies: map[*versions.Op]sim.Body{brood: body}})
	if err != nil {
		t.Fatal(err)
	}
	j := rt.NewJob(context.Background())
	bad := datum(1)
	bad.Value = (*int)(nil)
	for _, d := range []*graph.Datum{datum(0), bad} {
		if _, err := j.Submit(&graph.Spec{Op: brood, Operands: writes(d)}); err != nil {
			t.Fatal(err)
		}
	}
	err = j.Wait()
	var task *exec.TaskError
	if !errors.As(err, &task) || !errors.Is(err, wrong) {
		t.Errorf("the job has ended with %v", err)
	}
	rt.Close() // ends the body that waits
}

// TestBelow: groups that are below what there is not are refused.
func TestBelow(t *testing.T) {
	for _, change := range []func(m *sim.Machine){
		func(m *sim.Machine) { m.Nodes[2].Below = "others" },
		func(m *sim.Machine) { m.Nodes[2].Count = 3 },
		func(m *sim.Machine) { m.Nodes[0].Below = "heads" },
		func(m *sim.Machine) { m.Nodes[0].Name = "heads" },
	} {
		m := tree(2, 2, 2)
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		change(m)
		var bad *sim.MachineError
		if err := m.Validate(); !errors.As(err, &bad) {
			t.Errorf("%+v: %v", m.Nodes, err)
		}
	}
}
