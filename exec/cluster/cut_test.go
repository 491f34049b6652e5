package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/internal/faulty"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// cutNetwork returns a network without faults. If nodes notice, one that is cut off from another one
// sees it leave; or else only values do not come.
func cutNetwork(notice bool) *faulty.Network {
	opt := faulty.Options{Patience: 400 * time.Millisecond}
	if notice {
		opt.Timeout = time.Second
	}
	return faulty.New(opt)
}

// TestCut: two agents that are cut off from each other, while the driver reaches both, end their
// job as if nothing were. No node is lost, nothing is made again, and when the cut heals values
// come directly again. All of it is in virtual time.
func TestCut(t *testing.T) {
	leaves(t)
	set := map[string]func(*cluster.Options){
		"owner":    func(o *cluster.Options) { o.Owner, o.Idle, o.Stay = true, true, true },
		"locality": func(o *cluster.Options) { o.Idle = true },
		"eft":      func(o *cluster.Options) { o.Policy = dispatch.EarliestFinish },
	}
	for name, set := range set {
		for _, agents := range []int{2, 3} {
			for _, lasts := range []time.Duration{5 * time.Second, time.Minute, 0} { // 0: for good
				if testing.Short() && lasts == 5*time.Second && agents == 3 { // a part of what a minute shows
					continue
				}
				for _, oneWay := range []bool{false, true} {
					notice := !oneWay
					t.Run(fmt.Sprintf("%s/agents=%d/%v/oneway=%t", name, agents, lasts, oneWay), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { cutOff(t, set, agents, lasts, oneWay, notice) })
					})
				}
			}
		}
	}
}

func cutOff(t *testing.T, set func(*cluster.Options), agents int, lasts time.Duration, oneWay, notice bool) {
	defer time.AfterFunc(time.Hour, func() { panic("nothing gets on") }).Stop()
	var said counts
	faults := cutNetwork(notice)
	n := startOn(t, faults.Node, agents, func(o *cluster.Options) {
		o.Window, o.Log = 100, slog.New(&said)
		set(o)
	})
	defer n.Close()
	rng := rand.New(rand.NewPCG(uint64(agents), 12))
	tasks := 300
	if lasts == time.Minute {
		tasks = 900
	}
	p := newProgram(n.op, rng, 24, tasks, 1_000_000).spreads(n.op)
	a, b := []string{"agent0"}, []string{"agent1"}
	time.AfterFunc(3*time.Second, func() {
		if faults.CutOneWay(a, b); !oneWay {
			faults.CutOneWay(b, a)
		}
	})
	if lasts > 0 {
		time.AfterFunc(3*time.Second+lasts, faults.Heal)
	}
	began := time.Now()
	p.run(t, n.NewJob(context.Background()), 0, rng)
	t.Logf("%v", time.Since(began))
	for message, many := range map[string]bool{
		"a node cannot have values from another one, and gets them by way of others": true,
		"values come from another node directly again":                               lasts > 0,
		"a node has left":                         false,
		"what was lost with a node is made again": false,
	} {
		if got := said.get(message); (got > 0) != many {
			t.Errorf("%d times: %s", got, message)
		}
	}
}

// TestCutFromAll: an agent that can pass values to nobody, while messages go to and fro, counts as lost,
// and others do its work. If it alone could, the job ends with an error that names it, and the datum.
func TestCutFromAll(t *testing.T) {
	leaves(t)
	for _, agents := range []int{1, 2} {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("agents=%d/kept=%t", agents, kept), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { cutFromAll(t, agents, kept) })
			})
		}
	}
}

func cutFromAll(t *testing.T, agents int, kept bool) {
	defer time.AfterFunc(time.Hour, func() { panic("nothing gets on") }).Stop()
	var said counts
	faults := cutNetwork(false)
	n := startOn(t, faults.Node, agents, func(o *cluster.Options) {
		o.Window, o.Log, o.Idle, o.Owner = 100, slog.New(&said), true, true
	})
	defer n.Close()
	rng := rand.New(rand.NewPCG(uint64(agents), 13))
	p := newProgram(n.op, rng, 24, 300, 100_000).spreads(n.op)
	cut := func() { faults.CutValues([]string{"agent0"}, []string{"driver", "agent1"}) }
	if !kept {
		time.AfterFunc(3*time.Second, cut)
		p.run(t, n.NewJob(context.Background()), 0, rng)
		if said.get("a node has left") != 1 {
			t.Errorf("%d nodes have left, want 1", said.get("a node has left"))
		}
		return
	}
	// What a job has made from the program's memory stays on the nodes, and cannot be made again.
	value := &number{}
	set, err := n.Keep([]versions.Shaped{value})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Release()
	data := []graph.Datum{{Value: &number{5}, Bytes: 8, Name: "A", Key: graph.Key{Matrix: 2, I: 3, J: 1}}, {Value: value, Bytes: 8, Name: "X", Key: graph.Key{Matrix: 3, I: 1, J: 2}, Owner: 0}}
	j := n.NewJob(context.Background())
	if _, err := j.Submit(&graph.Spec{Op: n.op, Params: &mix{Reads: 1, Writes: 2, Seed: 7}, Operands: []graph.Operand{{Datum: &data[0], Mode: graph.In}, {Datum: &data[1], Mode: graph.Out}}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	owner := "" // the agent that has joined first
	for _, u := range n.Usage() {
		for _, tasks := range u.Tasks {
			if tasks > 0 {
				owner = u.Node
			}
		}
	}
	faults.CutValues([]string{owner}, []string{"driver", "agent0", "agent1"})
	err = set.Fetch(context.Background(), value, &number{})
	var lost *cluster.NodeLostError
	var path *cluster.PathError
	if !errors.As(err, &lost) || !errors.As(err, &path) || lost.Node != owner || lost.Data != "A(3,1)" || path.Reader != "driver" || path.Data != "X(1,2)" {
		t.Errorf("%v, want that X(1,2) on %s cannot get to the driver", err, owner)
	}
}
