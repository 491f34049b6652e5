package sim_test

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/sim"
)

// TestLosses: random programs end under every policy when nodes are lost at any time, and come back,
// also if all but the driver are. What tasks are executed is the program's and what is made again.
func TestLosses(t *testing.T) {
	again := 0
	for seed := range uint64(40) {
		for _, o := range []cluster.Options{{}, {ByPriority: true}, {Policy: dispatch.FIFO}, {Policy: dispatch.EarliestFinish}, {Owner: true}, {Owner: true, Stay: true}} {
			run := func() *sim.Prediction {
				p := random(seed, 200, 12) // elsewhere in memory each time
				for i, d := range p.data {
					if d.Owner = int32(i % 4); seed%4 == 1 {
						d.Bytes = 70_000 // which spread as a tree
					}
				}
				m := machine(4, 2)
				m.Apart = seed%2 == 0
				m.Network.Timeout = float64(seed%3) / 10
				if seed%8 < 3 {
					m.Network.Busy, m.Network.Message, m.Costs.Serial = 0.004, 0.001, 1e-6
				}
				if seed%7 == 1 {
					m.Kinds[0].Memory = 12 * p.data[0].Bytes
				}
				at := float64(seed%8) / 8
				m.Failures = []sim.Failure{{Node: 1 + int(seed%3), At: at, Back: 0.3 * float64(seed%4) * (1 + at)}}
				if m.Failures[0].Back <= at {
					m.Failures[0].Back = 0
				}
				if seed%5 == 4 {
					m.Failures = []sim.Failure{{Node: 1, At: at}, {Node: 2, At: at + 0.1}, {Node: 3, At: at + 0.2, Back: at + 3}}
				}
				rt, err := sim.NewCluster(sim.Options{Machine: m, Nodes: o})
				if err != nil {
					t.Fatal(err)
				}
				p.run(t, rt)
				return rt.Prediction()
			}
			x, y := run(), run()
			if !reflect.DeepEqual(x, y) {
				t.Fatalf("seed %d, %+v: %+v and %+v", seed, o, x, y)
			}
			again += x.Losses.Again
			if x.Losses.Nodes == 0 || x.Tasks < 200+x.Losses.Again || x.Tasks > 200+x.Losses.Again+x.Losses.Tasks {
				t.Errorf("seed %d, %+v: %d tasks, %+v", seed, o, x.Tasks, *x.Losses)
			}
		}
	}
	if again < 100 {
		t.Errorf("%d tasks were executed again", again)
	}
}

// TestLostAtOnce: a node that is lost before it has anything costs what a machine without it does.
func TestLostAtOnce(t *testing.T) {
	for seed := range uint64(10) {
		p := random(seed, 200, 12)
		run := func(m *sim.Machine) *sim.Prediction {
			rt, err := sim.NewCluster(sim.Options{Machine: m})
			if err != nil {
				t.Fatal(err)
			}
			p.run(t, rt)
			return rt.Prediction()
		}
		m := machine(4, 2)
		m.Failures = []sim.Failure{{Node: 3}}
		x, y := run(m), run(machine(3, 2))
		if x.Losses.Again != 0 || x.Nodes[3].Tasks != 0 || math.Abs(x.Seconds/y.Seconds-1) > 0.02 {
			t.Errorf("seed %d: %g s, without the node %g: %+v", seed, x.Seconds, y.Seconds, *x.Losses)
		}
	}
}

// TestFailures: scripts that make no sense are refused.
func TestFailures(t *testing.T) {
	for _, f := range [][]sim.Failure{
		{{Node: 0, At: 1}}, {{Node: 4, At: 1}}, {{Node: -1, At: 1}}, {{Node: 1, At: -1}}, {{Node: 1, At: math.NaN()}},
		{{Node: 1, At: 2, Back: 1}}, {{Node: 1, At: 1}, {Node: 1, At: 2}}, {{Node: 1, At: 1, Back: 3}, {Node: 1, At: 2}},
	} {
		m := machine(4, 2)
		m.Failures = f
		_, err := sim.NewCluster(sim.Options{Machine: m})
		if bad := (*sim.MachineError)(nil); !errors.As(err, &bad) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

// TestUnheard: what a node has made and not told when it is lost has not been made. Another one makes
// it from a copy; of what was told all is made again.
func TestUnheard(t *testing.T) {
	seen := map[int]int{}
	for at := 3.08; at < 3.12; at += 0.001 {
		m := machine(4, 1)
		m.Apart = true
		m.Failures = []sim.Failure{{Node: 1, At: at}}
		rt, err := sim.NewCluster(sim.Options{Machine: m, Nodes: cluster.Options{Owner: true, Stay: true}})
		if err != nil {
			t.Fatal(err)
		}
		d, x := &graph.Datum{Bytes: 1000, Value: new(int)}, &graph.Datum{Bytes: 1000, Value: new(int), Owner: 2}
		makes := graph.Spec{Op: op, Params: &work{100}, Operands: []graph.Operand{{Datum: d, Mode: graph.InOut}}}
		p := &program{specs: []graph.Spec{makes, {Op: op, Params: &work{100}, Operands: []graph.Operand{{Datum: x, Mode: graph.InOut}, {Datum: d, Mode: graph.In}}}, makes}}
		p.run(t, rt)
		again := rt.Prediction().Losses.Again
		if seen[again]++; rt.Now() > 4.2+0.55*float64(again) {
			t.Errorf("lost at %g s: %d tasks were executed again, and it took %g s", at, again, rt.Now())
		}
	}
	if len(seen) != 2 || seen[0] < 10 || seen[2] < 10 {
		t.Errorf("how often so many tasks were executed again: %v", seen)
	}
}
