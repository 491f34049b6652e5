package cluster_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

// began is a task that a node has begun.
type began struct {
	node string
	at   time.Duration
	i, j int32 // of what it writes
}

// lostWithin runs a program on nodes of which one may be lost meanwhile, and returns how long it took. Its
// data stay on nodes, or come back to the program.
func lostWithin(t *testing.T, rt exec.Keeper, p *program, stay bool) time.Duration {
	var values []versions.Shaped
	for i := 0; i < len(p.data) && stay; i++ {
		values = append(values, p.data[i].Value.(*number))
	}
	kept, err := rt.Keep(values)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Release()
	start := time.Now()
	j := rt.NewJob(context.Background())
	for i := range p.specs {
		if _, err := j.Submit(&p.specs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// TestSimulatedLossWithin: if a node is lost while a program runs, and also comes back, exec/sim has as
// many tasks executed again, and takes as long, as a driver and agents in virtual time. Tasks that are
// ready at the same instant may be given in another order by either: programs are left out that this has
// begin in another way before the loss. After it, three runs of all may differ.
func TestSimulatedLossWithin(t *testing.T) {
	leaves(t)
	compared, again, others := 0, 0, 0
	for seed := range 24 {
		for differs := "again"; differs != ""; {
			synctest.Test(t, func(t *testing.T) {
				var n int
				if n, differs = simulatedLoss(t, seed); n >= 0 && differs == "" {
					compared, again = compared+1, again+n
				}
			})
			if differs != "" {
				others++
			}
			if others > 3 {
				t.Fatalf("seed %d: %s", seed, differs)
			}
		}
	}
	if compared < 16 || again < 50 {
		t.Errorf("%d of 24 programs were compared, with %d tasks that were executed again", compared, again)
	}
}

// simulatedLoss returns how many tasks were executed again, -1 if there is nothing to compare, and
// what differs in virtual time.
func simulatedLoss(t *testing.T, seed int) (again int, differs string) {
	lu, node := seed%2 == 1, 1+seed/2%3
	at := time.Duration(10+seed*37%110) * time.Millisecond
	back := time.Duration(0)
	if seed%5 == 4 {
		back = at + time.Duration(5+seed%50)*time.Millisecond
	}
	tasks := func(op *versions.Op) *program {
		p := factoring(op, 6, lu)
		for i := range p.specs {
			p.specs[i].Priority, p.specs[i].Params.(*mix).Sleep = int64(-i), int64(2000+(i*7919+seed)%2003)
		}
		for i := 0; i < len(p.data) && seed/6%2 == 1; i += 2 {
			p.data[i].Bytes = 70_000 // which spread as a tree
		}
		return p
	}
	var mu sync.Mutex
	var live, virtual []began
	var zero time.Time                // of the run
	written := map[uint64]graph.Key{} // by seed of the task
	n := start(t, 3, func(o *cluster.Options) {
		rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rt.Close() })
		o.Idle, o.Owner, o.Stay, o.Runtime, o.Log = true, true, true, rt, slog.New(slog.DiscardHandler)
		run, self := o.Ops[0].Versions[0].Run, o.Transport.Self()
		o.Ops[0].Versions[0].Run = func(c *versions.Call) error {
			k := written[c.Params.(*mix).Seed]
			mu.Lock()
			live = append(live, began{self, time.Since(zero), k.I, k.J})
			mu.Unlock()
			return run(c)
		}
	})
	p, names := tasks(n.op), n.Nodes()
	for i := range p.specs {
		written[uint64(i)] = p.specs[i].Operands[0].Datum.Key
	}
	zero = time.Now()
	defer time.AfterFunc(at, func() { n.killNode(names[node]) }).Stop()
	if back > 0 {
		defer time.AfterFunc(back, n.More).Stop()
	}
	took := lostWithin(t, n.Driver, p, seed%4 < 2)
	executed := int(n.Watch().Again)
	n.Close()

	op := *ops()[0]
	op.Work = func(c *versions.Call) float64 { return float64(c.Params.(*mix).Sleep) }
	rt, err := sim.NewCluster(sim.Options{Record: true, Nodes: cluster.Options{Owner: true, Stay: true}, Machine: &sim.Machine{
		Apart: true, Kinds: []sim.Kind{{Name: "x", Cores: 1, Rate: 1e6}}, Nodes: []sim.Nodes{{Kind: "x", Count: 4}},
		Network: sim.Network{Bandwidth: 1e15}, Failures: []sim.Failure{{Node: node, At: at.Seconds(), Back: back.Seconds()}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	lostWithin(t, rt, tasks(&op), seed%4 < 2)
	for _, e := range rt.Recording().Events { // a node has one worker
		if e.Worker < len(names) {
			virtual = append(virtual, began{names[e.Worker], e.Start.Round(time.Microsecond), int32(e.I), int32(e.J)})
		}
	}
	before := func(all []began) []began { // but for the last one of the node, which simulations do not record
		all = slices.DeleteFunc(all, func(x began) bool { return x.at >= at || x.node == names[node] })
		slices.SortFunc(all, func(a, b began) int { return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.at, b.at)) })
		return all
	}
	if !slices.Equal(before(live), before(virtual)) {
		return -1, ""
	}
	x := rt.Prediction()
	if x.Losses.Again != executed || math.Abs(x.Seconds/took.Seconds()-1) > 0.02 {
		differs = fmt.Sprintf("%v, and %d tasks were executed again; in virtual time %g s and %d", took, executed, x.Seconds, x.Losses.Again)
	}
	return executed, differs
}
