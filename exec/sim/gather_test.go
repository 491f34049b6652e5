package sim_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/versions"
)

// unitTask returns a task that takes units workers, each of which has a tenth of a second to do.
func unitTask(units int) *graph.Spec {
	s := &graph.Spec{Op: op, Params: &work{float64(10 * units)}}
	if units > 1 {
		s.Constraints = &versions.Constraints{Units: units}
	}
	return s
}

// TestUnits: two tasks of two units and ten of one, in any order, take at most 5 % longer than the best order does on two
// workers, under every policy, on one node and on another node than the driver's.
func TestUnits(t *testing.T) {
	for _, kind := range dispatch.Kinds() {
		for seed := range uint64(8) {
			units := []int{2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
			rnd := rand.New(rand.NewPCG(seed, 1))
			rnd.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
			away := machine(2, 2)
			away.Apart, away.Network.Latency = true, 1e-5
			for where, start := range map[string]func() (runtime, error){
				"one":  func() (runtime, error) { return sim.New(sim.Options{Machine: machine(1, 2), Policy: kind}) },
				"away": func() (runtime, error) { return sim.NewCluster(sim.Options{Machine: away, Policy: kind}) },
			} {
				rt, err := start()
				if err != nil {
					t.Fatal(err)
				}
				j := rt.NewJob(context.Background())
				for _, n := range units {
					if _, err := j.Submit(unitTask(n)); err != nil {
						t.Fatal(err)
					}
				}
				if err := j.Wait(); err != nil {
					t.Fatal(err)
				}
				p := rt.Prediction()
				if s := p.Seconds; s < 0.7 || s > 0.735 {
					t.Errorf("%s, %v, %v: %.3f s, want 0.7", where, kind, units, s)
				}
				if _, err := j.Submit(unitTask(3)); err == nil && j.Wait() == nil {
					t.Errorf("%s: three units are not refused", where)
				}
				rt.Close()
			}
		}
	}
}

// runtime is a runtime in virtual time.
type runtime interface {
	exec.Runtime
	Prediction() *sim.Prediction
}

// TestUnitsSockets: tasks of up to three units on nodes with two sockets of two and three workers, and on several nodes.
func TestUnitsSockets(t *testing.T) {
	m := machine(3, 0)
	m.Kinds[0] = sim.Kind{Name: "x", Sockets: 2, Cores: 3, Workers: 5, Rate: 100}
	for _, o := range []cluster.Options{{Policy: dispatch.Locality}, {Policy: dispatch.FIFO}, {ByPriority: true}, {Policy: dispatch.EarliestFinish}} {
		for _, kind := range dispatch.Kinds() {
			rt, err := sim.NewCluster(sim.Options{Machine: m, Policy: kind, Nodes: o})
			if err != nil {
				t.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(5, uint64(kind)))
			j, all := rt.NewJob(context.Background()), 0.0
			for range 300 {
				s := unitTask(1 + rnd.IntN(3))
				all += s.Params.(*work).Units / 100
				if _, err := j.Submit(s); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.Wait(); err != nil {
				t.Fatal(err)
			}
			busy := 0.0
			p := rt.Prediction()
			for _, n := range p.Nodes {
				busy += n.Busy
			}
			// Of 15 workers few are idle: at the end, and those that wait for others.
			if busy < 0.999*all || busy > 1.001*all || p.Seconds > 1.35*all/15 {
				t.Errorf("%+v, %v: %.2f s on 15 workers, which are busy for %.2f, of %.2f", o.Policy, kind, p.Seconds, busy, all)
			}
			rt.Close()
		}
	}
}
