package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// TestEarlyBelow: what a child on a node below has made of an operand is there for tasks on other nodes while other
// children go on. It may be written over then: when the children end, and if their node is lost before, it stays as it is.
func TestEarlyBelow(t *testing.T) {
	leaves(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for _, lose := range []bool{false, true} {
		read, wait, ran := make(chan uint64, 2), make(chan bool), make(chan string, 8)
		n := startOn(t, transport.NewNetwork().Node, 3, func(o *cluster.Options) {
			name := o.Transport.Self()
			add := &versions.Op{Name: "add", NewParams: func() any { return new(width) }, Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
				ran <- name
				if c.Params.(*width).Units > 0 {
					select {
					case <-wait:
					case <-c.Ctx.Done():
						return context.Cause(c.Ctx)
					}
				}
				for _, more := range c.Args[1:] {
					c.Args[0].(*number).n += more.(*number).n
				}
				c.Args[0].(*number).n++
				return nil
			}}}}
			early := &versions.Op{Name: "early", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
				children, err := exec.Nested(c)
				if err != nil {
					return err
				}
				data := make([]graph.Datum, 2)
				for k := range 4 {
					d := &data[k/2]
					d.Value, d.Bytes = c.Args[k/2], 8
					s := graph.Spec{Op: add, Params: &width{k / 2}, Operands: []graph.Operand{{Datum: d, Mode: graph.InOut}}}
					if k == 2 { // it reads the other one, which is handed on meanwhile
						s.Operands = append(s.Operands, graph.Operand{Datum: &data[0], Mode: graph.In})
					}
					if _, err := children.Submit(&s); err != nil {
						return err
					}
				}
				children.Hand(&data[0], 0)
				children.Hand(&data[1], 1)
				return nil
			}}}}
			look := &versions.Op{Name: "look", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
				x := c.Args[0].(*number)
				x.n *= 10
				read <- x.n
				return nil
			}}}}
			o.Idle, o.Owner, o.Ops = name == "driver" || name == "agent0", true, append(o.Ops, add, early, look)
			if name == "agent1" {
				o.Parent = "agent0"
			}
		})
		(&tree{nodes: n}).await(t, []string{"", "agent0", ""})
		data := make([]graph.Datum, 2)
		for i := range data {
			data[i] = graph.Datum{Key: graph.Key{Matrix: 1, I: int32(i)}, Value: &number{uint64(i)}, Bytes: 8}
		}
		// Owner 0 is the first agent that has joined.
		if n.Nodes()[1] != "agent0" {
			data[0].Owner, data[1].Owner = 1, 1
		}
		ops := map[string]*versions.Op{}
		for _, name := range []string{"early", "look"} {
			ops[name] = &versions.Op{Name: name, Versions: []versions.Version{{Name: "go"}}}
		}
		j := n.NewJob(ctx)
		for _, s := range []graph.Spec{
			{Op: ops["early"], Operands: []graph.Operand{{Datum: &data[0], Mode: graph.InOut}, {Datum: &data[1], Mode: graph.InOut}}},
			{Op: ops["look"], Operands: []graph.Operand{{Datum: &data[0], Mode: graph.InOut}}}, // on agent0 as well
		} {
			if _, err := j.Submit(&s); err != nil {
				t.Fatal(err)
			}
		}
		if x := soon(ctx, t, "below", read, wait); x != 20 { // 10·(0 + 2), while the second operand waits
			t.Errorf("another task has read %d, want 20", x)
		}
		if lose {
			n.Kill[1]()
		}
		close(wait)
		if err := j.Wait(); err != nil {
			t.Fatal(err)
		}
		for i, want := range []uint64{20, 5} {
			if x := data[i].Value.(*number).n; x != want {
				t.Errorf("lose %t: datum %d is %d, want %d", lose, i, x, want)
			}
		}
		if where := <-ran; where != "agent1" {
			t.Errorf("children ran on %s, want agent1, below", where)
		}
		n.Close()
	}
}
