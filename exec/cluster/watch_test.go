package cluster_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// held is a number that cannot be fetched from the program before open is closed.
type held struct {
	number
	open chan bool
}

func (v *held) Snapshot() versions.Value { return v }
func (v *held) Restore(s versions.Value) { v.number = s.(*held).number }
func (v *held) Encode(w io.Writer) error { <-v.open; return v.number.Encode(w) }

// latch returns a channel, and what closes it: a test that fails before it does so must not wait for
// tasks that wait for that. So it is called when all is started that ends with the test.
func latch(t *testing.T) (c chan bool, shut func()) {
	c = make(chan bool)
	shut = sync.OnceFunc(func() { close(c) })
	t.Cleanup(shut)
	return c, shut
}

// holding starts a cluster with an op "hold", whose tasks end after release.
func holding(t *testing.T, agents int, set func(*cluster.Options)) (n *nodes, op *versions.Op, release func()) {
	var hold chan bool
	op = &versions.Op{Name: "hold", Work: func(*versions.Call) float64 { return 1000 }, Versions: []versions.Version{{Name: "go", Run: func(*versions.Call) error { <-hold; return nil }}}}
	n = start(t, agents, func(o *cluster.Options) {
		o.Idle, o.Owner = true, true
		o.Ops, o.Values = append(o.Ops, op), append(o.Values, &held{})
		if set != nil {
			set(o)
		}
	})
	hold, release = latch(t)
	return n, op, release
}

// killNode ends an agent.
func (n *nodes) killNode(name string) { n.Kill[name[len("agent")]-'0']() }

// TestWatch: what is seen of a cluster in the middle: workers in tasks, a task that waits for an
// operand, those that wait for others, and a node that is lost.
func TestWatch(t *testing.T) {
	leaves(t)
	n, op, release := holding(t, 2, nil)
	until := func(what string, is func(c *trace.Cluster) bool) (c trace.Cluster) {
		t.Helper()
		for range 60_000 {
			if c = n.Watch(); is(&c) {
				return c
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Fatalf("%s: %+v", what, c)
		return c
	}
	open, gives := latch(t)
	data := make([]graph.Datum, 4) // of agent0, agent1, and so on
	for i := range data {
		data[i] = graph.Datum{Name: "A", Key: graph.Key{Matrix: 1, I: int32(i)}, Value: &number{}, Bytes: 8, Owner: int32(i)}
	}
	late := graph.Datum{Name: "B", Key: graph.Key{Matrix: 2}, Value: &held{open: open}, Bytes: 8}
	j := n.NewJob(context.Background())
	submit := func(op *versions.Op, params any, operands ...graph.Operand) {
		t.Helper()
		if _, err := j.Submit(&graph.Spec{Op: op, Params: params, Operands: operands}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range data { // two on each agent, and one after each of them
		submit(op, nil, graph.Operand{Datum: &data[i], Mode: graph.InOut})
		submit(n.op, &mix{Writes: 1, Reads: 1}, graph.Operand{Datum: &data[i], Mode: graph.InOut})
	}
	c := until("all workers hold", func(c *trace.Cluster) bool { return c.Nodes[1].Busy == 2 && c.Nodes[2].Busy == 2 })
	if want := (trace.Counts{Submitted: 8, Waiting: 4, Running: 4}); c.Counts != want {
		t.Errorf("counts %+v, want %+v", c.Counts, want)
	}
	for _, x := range c.Nodes[1:] {
		if x.Lost || x.Workers != 2 || x.Has != 2 || x.Sent != 2 || x.Ended != 0 || x.Held != 16 || x.In != 0 && x.In != 16 || len(x.Waits) > 0 || x.Since <= 0 {
			t.Errorf("%+v", x)
		}
	}
	if d := c.Nodes[0]; d.Name != "driver" || d.Busy != 0 || !slices.Equal(d.Waits, []string{"tasks that no other node can execute"}) {
		t.Errorf("%+v", d)
	}
	release()
	until("all have ended", func(c *trace.Cluster) bool {
		return c.Counts == trace.Counts{Submitted: 8, Ended: 8, Attempts: 8, Work: 4000} && len(c.Nodes[1].Waits) == 1 && c.Nodes[1].Waits[0] == "the program to submit tasks"
	})
	submit(n.op, &mix{Writes: 2, Reads: 1}, graph.Operand{Datum: &data[0], Mode: graph.InOut}, graph.Operand{Datum: &data[2], Mode: graph.In})
	submit(op, nil, graph.Operand{Datum: &data[1], Mode: graph.InOut}, graph.Operand{Datum: &late, Mode: graph.In})
	c = until("a task waits for B", func(c *trace.Cluster) bool { return c.Nodes[2].Waiting == 1 && len(c.Nodes[2].Waits) == 1 })
	if w := c.Nodes[2].Waits[0]; !strings.HasPrefix(w, "B(0,0) from driver, ") || !strings.HasSuffix(w, "s: task 10, hold") {
		t.Errorf("agent1 waits for %q", w)
	}
	n.killNode(c.Nodes[1].Name)
	c = until("a node is lost", func(c *trace.Cluster) bool { return c.Nodes[1].Lost })
	if x := c.Nodes[1]; x.Busy != 0 || x.Has != 0 || x.Ended < 4 || x.Since > time.Minute {
		t.Errorf("%+v", x)
	}
	gives()
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	if c := n.Watch(); c.Counts.Submitted != 10 || c.Counts.Ended != 10 {
		t.Errorf("%+v", c.Counts)
	}
}

// TestWatchJoined: a node that has come while a job goes on without it can be looked at.
func TestWatchJoined(t *testing.T) {
	leaves(t)
	n, op, release := holding(t, 0, nil)
	d := graph.Datum{Key: graph.Key{Matrix: 1}, Value: &number{}, Bytes: 8}
	j := n.NewJob(context.Background())
	if _, err := j.Submit(&graph.Spec{Op: op, Operands: []graph.Operand{{Datum: &d, Mode: graph.InOut}}}); err != nil {
		t.Fatal(err)
	}
	n.More()
	if err := n.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if c := n.Watch(); len(c.Nodes) != 2 || c.Nodes[1].Has != 0 {
		t.Errorf("%+v", c)
	}
	release()
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
}
