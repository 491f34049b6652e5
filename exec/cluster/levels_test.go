package cluster_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// fan is the parameter of op "fan": a task with so many children, which count in the 16 numbers
// of its operand.
type fan struct{ Children int }

// fanOp returns op "fan".
func fanOp(ran *atomic.Int64) *versions.Op {
	op := &versions.Op{Name: "fan", NewParams: func() any { return new(fan) }}
	op.Versions = []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		v, n := c.Args[0].(*numbers), c.Params.(*fan).Children
		if ran != nil {
			ran.Add(1)
		}
		if n == 0 {
			v.n[0]++
			return nil
		}
		job, err := exec.Nested(c)
		if err != nil {
			return err
		}
		data := make([]graph.Datum, len(v.n))
		for i := range data {
			data[i].Value, data[i].Bytes = &numbers{v.n[i : i+1]}, 8
		}
		one := &fan{}
		for i := range n {
			s := graph.Spec{Op: op, Params: one, Operands: []graph.Operand{{Datum: &data[i%len(data)], Mode: graph.InOut}}}
			if _, err := job.Submit(&s); err != nil {
				return err
			}
		}
		return nil
	}}}
	return op
}

// crowd runs so many tasks with so many children each, and returns how many tasks its job had.
func crowd(t testing.TB, n *nodes, tasks, children int) int {
	t.Helper()
	data := make([]graph.Datum, min(tasks, 256))
	for i := range data {
		data[i].Value, data[i].Bytes = &numbers{make([]uint64, 16)}, 128
	}
	p := &fan{children}
	job := n.NewJob(context.Background())
	for i := range tasks {
		s := graph.Spec{Op: n.op, Params: p, Operands: []graph.Operand{{Datum: &data[i%len(data)], Mode: graph.InOut}}}
		if _, err := job.Submit(&s); err != nil {
			t.Fatal(err)
		}
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for i := range data {
		for _, x := range data[i].Value.(*numbers).n {
			sum += x
		}
	}
	if want := uint64(tasks * max(children, 1)); sum != want {
		t.Fatalf("%d tasks have counted, want %d", sum, want)
	}
	return job.Completed()
}

// talk counts the bytes that a node sends, and is sent.
type talk struct {
	transport.Transport
	of    string
	bytes *atomic.Int64
}

func (c *talk) Send(ctx context.Context, to string, m []byte) error {
	if c.of == c.Self() || c.of == to {
		c.bytes.Add(int64(len(m)))
	}
	return c.Transport.Send(ctx, to, m)
}

// TestLevels: a driver has to do with its own tasks only, whatever these have for children, on
// the agent itself or on nodes below it.
func TestLevels(t *testing.T) {
	leaves(t)
	for _, parents := range [][]string{{"", "", "", ""}, {"", "", "agent0", "agent1"}} {
		network, bytes := transport.NewNetwork(), new(atomic.Int64)
		ran := map[string]*atomic.Int64{}
		x := startTreeOn(t, func(name string) (transport.Transport, error) {
			tr, err := network.Node(name)
			return &talk{tr, "driver", bytes}, err
		}, func(o *cluster.Options) {
			n := new(atomic.Int64)
			o.Idle, ran[o.Transport.Self()], o.Ops = true, n, []*versions.Op{fanOp(n)}
		}, parents...)
		said := map[int]int64{} // bytes by the number of children
		for _, children := range []int{10, 500} {
			before := bytes.Load()
			if n := crowd(t, x.nodes, 40, children); n != 40 {
				t.Errorf("the driver had %d tasks, want 40", n)
			}
			said[children] = bytes.Load() - before
		}
		if few, many := said[10], said[500]; many > 2*few+1000 {
			t.Errorf("%v: 40 tasks with 10 children each are %d bytes of messages for the driver, with 500 %d", parents, few, many)
		}
		for name, n := range ran {
			if (n.Load() > 0) != (name != "driver") {
				t.Errorf("%v: %s has executed %d tasks", parents, name, n.Load())
			}
		}
		t.Log(said)
	}
}
