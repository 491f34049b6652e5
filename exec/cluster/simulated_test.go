package cluster_test

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/versions"
)

// factoring is the tasks of factorizations of so many tiles in a row, which three owners share.
func factoring(op *versions.Op, tiles int, lu bool) *program {
	p := &program{data: make([]graph.Datum, tiles*tiles)}
	at := func(i, j int) *graph.Datum {
		d := &p.data[i*tiles+j]
		d.Value, d.Bytes, d.Owner = cmp.Or[any](d.Value, &number{}), 8, int32((i+2*j)%3)
		d.Key = graph.Key{I: int32(i), J: int32(j)}
		return d
	}
	task := func(writes *graph.Datum, reads ...*graph.Datum) {
		s := graph.Spec{Op: op, Params: &mix{Writes: 1, Reads: 1<<(1+len(reads)) - 1, Seed: uint64(len(p.specs))}, Operands: []graph.Operand{{Datum: writes, Mode: graph.InOut}}}
		for _, d := range reads {
			s.Operands = append(s.Operands, graph.Operand{Datum: d, Mode: graph.In})
		}
		p.specs = append(p.specs, s)
	}
	for i := range tiles {
		for j := range tiles {
			task(at(i, j)) // makes it
		}
	}
	for k := range tiles {
		task(at(k, k))
		for i := k + 1; i < tiles; i++ {
			if task(at(i, k), at(k, k)); lu {
				task(at(k, i), at(k, k))
			}
		}
		for i := k + 1; i < tiles; i++ {
			for j := k + 1; j < tiles; j++ {
				if lu {
					task(at(i, j), at(i, k), at(k, j))
				} else if j <= i {
					task(at(i, j), at(i, k), at(j, k))
				}
			}
		}
	}
	return p
}

// lostBetween runs a program on data that stay on nodes, loses a node, and reads one after the other;
// it returns how many tasks were executed again by then, after each.
func lostBetween(t *testing.T, rt exec.Keeper, p *program, lose func(), again func() int) (counts []int) {
	var values []versions.Shaped
	for i := range p.data {
		values = append(values, p.data[i].Value.(*number))
	}
	kept, err := rt.Keep(values)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Release()
	run := func(specs ...graph.Spec) {
		j := rt.NewJob(context.Background())
		for i := range specs {
			if _, err := j.Submit(&specs[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	run(p.specs...)
	lose()
	for i := len(p.data) - 1; i >= 0; i-- { // the last has most before it
		run(graph.Spec{Op: p.specs[0].Op, Params: &mix{Reads: 1}, Operands: []graph.Operand{{Datum: &p.data[i], Mode: graph.In}}})
		counts = append(counts, again())
	}
	return counts
}

// TestSimulatedLoss: in virtual time exactly those tasks make again what a lost node had that do so on
// a live cluster.
func TestSimulatedLoss(t *testing.T) {
	leaves(t)
	for _, lu := range []bool{false, true} {
		for node := 1; node <= 3; node++ {
			n := start(t, 3, func(o *cluster.Options) {
				o.Idle, o.Owner, o.Stay, o.Log = true, true, true, slog.New(slog.DiscardHandler)
			})
			name := n.Nodes()[node]
			live := lostBetween(t, n.Driver, factoring(n.op, 6, lu), func() {
				i, err := strconv.Atoi(strings.TrimPrefix(name, "agent"))
				if err != nil {
					t.Fatal(err)
				}
				n.Kill[i]()
				for slices.Contains(n.Nodes(), name) {
					time.Sleep(time.Millisecond)
				}
			}, func() int { return int(n.Watch().Again) })
			n.Close()

			op := *ops()[0]
			op.Work = func(*versions.Call) float64 { return 1 }
			rt, err := sim.NewCluster(sim.Options{Setup: true, Nodes: cluster.Options{Owner: true, Stay: true}, Machine: &sim.Machine{
				Apart: true, Kinds: []sim.Kind{{Name: "x", Cores: 2, Rate: 1}}, Nodes: []sim.Nodes{{Kind: "x", Count: 4}},
				Network: sim.Network{Bandwidth: 1e9}, Failures: []sim.Failure{{Node: node}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			virtual := lostBetween(t, rt, factoring(&op, 6, lu), rt.Reset, func() int { return rt.Prediction().Losses.Again })
			if last := live[len(live)-1]; !slices.Equal(live, virtual) || last == 0 {
				t.Errorf("lu %t, node %d: %d tasks were executed again, in virtual time %d", lu, node, live, virtual)
			}
		}
	}
}
