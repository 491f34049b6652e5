package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/internal/faulty"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// expect notes what the tasks leave if they are executed one after the other on zeros, each in the given time.
func (p *program) expect(sleep time.Duration) *program {
	p.want = make([]number, len(p.data))
	of := map[*graph.Datum]*number{}
	for i := range p.data {
		of[&p.data[i]] = &p.want[i]
	}
	for _, s := range p.specs {
		var all []*number
		for _, o := range s.Operands {
			all = append(all, of[o.Datum])
		}
		m := s.Params.(*mix)
		m.Sleep = sleep.Microseconds()
		m.apply(all)
	}
	return p
}

// domainRun is a driver that executes nothing and agents with so many workers, which count their tasks.
type domainRun struct {
	*nodes
	ran  map[string]*atomic.Int64
	took time.Duration // of the tasks of a Cholesky factorization of ten block columns
}

// factor runs a Cholesky factorization. parents are the names of the nodes above each agent.
func factor(t *testing.T, workers []int, parents ...string) *domainRun {
	x := &domainRun{ran: map[string]*atomic.Int64{}}
	x.nodes = start(t, len(workers), func(o *cluster.Options) {
		name, count := o.Transport.Self(), new(atomic.Int64)
		x.ran[name] = count
		n := 1
		if name != "driver" {
			k := name[len("agent")] - '0'
			n, o.Parent = workers[k], parents[k]
		}
		run := o.Ops[0].Versions[0].Run
		o.Ops[0].Versions[0].Run = func(c *versions.Call) error { count.Add(1); return run(c) }
		rt, err := exec.NewLocal(exec.Options{Workers: n, Float: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rt.Close() })
		o.Idle, o.Runtime, o.Log = true, rt, slog.New(slog.DiscardHandler)
	})
	synctest.Wait() // all have heard of those below them
	began := time.Now()
	factoring(x.op, 10, false).expect(10*time.Millisecond).run(t, x.NewJob(t.Context()), 1, nil)
	x.took = time.Since(began)
	return x
}

// TestDelegation: of the tasks of a Cholesky factorization that one agent gets, the nodes below it execute at
// least 85 %, and it takes at most a ninth longer than if the driver had all three.
func TestDelegation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in virtual time
		workers := []int{1, 4, 4}
		tree, flat := factor(t, workers, "", "agent0", "agent0"), factor(t, workers, "", "", "")
		below, all := int64(0), int64(0)
		for name, n := range tree.ran {
			if all += n.Load(); name != "agent0" {
				below += n.Load()
			}
		}
		t.Logf("%d of %d tasks below, %v, flat %v", below, all, tree.took, flat.took)
		if all != 320 || tree.ran["driver"].Load() > 0 || float64(below) < .85*float64(all) {
			t.Errorf("of %d tasks %d ran below", all, below)
		}
		if float64(flat.took) < .9*float64(tree.took) {
			t.Errorf("%v, flat %v", tree.took, flat.took)
		}
	})
}

// TestDelegationSiblings: of two agents with nodes below them one has twice as many. Tasks that wait at one agent go to the
// other by way of the driver, so that all nodes are busy: it takes at most a ninth longer than if the driver had them all.
func TestDelegationSiblings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in virtual time
		workers := []int{1, 1, 2, 2, 2}
		tree, flat := factor(t, workers, "", "", "agent0", "agent0", "agent1"), factor(t, workers, "", "", "", "", "")
		of := func(names ...string) (tasks int64) {
			for _, name := range names {
				tasks += tree.ran[name].Load()
			}
			return tasks
		}
		larger, smaller := of("agent0", "agent2", "agent3"), of("agent1", "agent4")
		t.Logf("%d and %d tasks, %v, flat %v", larger, smaller, tree.took, flat.took)
		if larger+smaller != 320 || float64(flat.took) < .9*float64(tree.took) {
			t.Errorf("%d and %d tasks, %v, flat %v", larger, smaller, tree.took, flat.took)
		}
	})
}

// TestDelegationFaults: nodes of a tree that execute an agent's tasks are cut off, stand still and crash, and
// messages are lost.
func TestDelegationFaults(t *testing.T) {
	leaves(t)
	seeds := uint64(10)
	if !testing.Short() {
		seeds = min(*soak, 60)
	}
	var below atomic.Int64
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { delegateWithFaults(t, seed, &below) })
		})
	}
	if below.Load() < 10*int64(seeds) {
		t.Errorf("only %d tasks ran below", below.Load())
	}
}

// delegateWithFaults runs the random program of a seed on a tree with the faults of that seed.
func delegateWithFaults(t *testing.T, seed uint64, below *atomic.Int64) {
	defer time.AfterFunc(time.Hour, func() { panic(fmt.Sprintf("seed %d: nothing gets on", seed)) }).Stop()
	rng := rand.New(rand.NewPCG(seed, 19))
	faults, parents := faultyNetwork(seed), []string{"", "", "agent0", "agent0", "agent2"}
	n := startOn(t, faults.Node, len(parents), func(o *cluster.Options) {
		name := o.Transport.Self()
		o.Idle, o.Log = seed%2 == 0, slog.New(slog.DiscardHandler)
		if name == "driver" {
			return
		}
		if o.Parent = parents[name[len("agent")]-'0']; o.Parent != "" {
			run := o.Ops[0].Versions[0].Run
			o.Ops[0].Versions[0].Run = func(c *versions.Call) error { below.Add(1); return run(c) }
		}
	})
	ctx, stop := context.WithCancel(context.Background())
	steps := faulty.Draw(faulty.Plan{Seed: seed, Nodes: []string{"driver", "agent0", "agent1", "agent2", "agent3", "agent4"}, Steps: 5,
		Every: 15 * time.Millisecond, Outage: time.Duration(1+rng.IntN(300)) * time.Millisecond, Mortal: []string{"agent0", "agent2", "agent3"}[rng.IntN(3):]})
	var played sync.WaitGroup
	played.Go(func() { _ = faults.Play(ctx, steps) })
	newProgram(n.op, rng, 20, 300, 2000).run(t, n.NewJob(context.Background()), seed, rng)
	stop()
	played.Wait()
	faults.Heal()
	n.Close()
}

// TestDelegationFails: the failure of a task that a node below executes is that of the program's task.
func TestDelegationFails(t *testing.T) {
	leaves(t)
	synctest.Test(t, func(t *testing.T) { // in virtual time
		var failed atomic.Int64 // below
		n := start(t, 2, func(o *cluster.Options) {
			o.Idle = true
			if o.Transport.Self() != "agent1" {
				return
			}
			o.Parent = "agent0"
			run := o.Ops[0].Versions[0].Run
			o.Ops[0].Versions[0].Run = func(c *versions.Call) error {
				if c.Params.(*mix).Fail {
					failed.Add(1)
				}
				return run(c)
			}
		})
		synctest.Wait()
		for seed := range uint64(10) {
			p := newProgram(n.op, rand.New(rand.NewPCG(seed, 2)), 6, 60, 3000)
			m := *p.specs[40].Params.(*mix)
			m.Fail = true
			p.specs[40].Params = &m
			j := n.NewJob(t.Context())
			for i := range p.specs {
				if _, err := j.Submit(&p.specs[i]); err != nil {
					break
				}
			}
			err := j.Wait()
			var f *fatal
			var e *exec.TaskError
			if !errors.As(err, &f) || !errors.As(err, &e) || f.Seed != m.Seed || e.Task != 41 || e.Version != "go" || e.Node != "agent0" {
				t.Fatalf("error %v, want that of task 41", err)
			}
		}
		if failed.Load() == 0 {
			t.Error("no task has failed below")
		}
		n.Close()
	})
}
