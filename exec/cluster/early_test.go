package cluster_test

import (
	"context"
	"testing"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// TestEarly: what a task has finished with is there for tasks on other nodes while it goes on, to
// be read and to be written over; it waits for these here. When its node is lost then, what it
// has not finished with is made again, and what others have made of the rest stays.
func TestEarly(t *testing.T) {
	leaves(t)
	for _, lose := range []bool{false, true} {
		read, go_ := make(chan uint64, 3), make(chan bool)
		early := &versions.Op{Name: "early", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
			a, b := c.Args[0].(*number), c.Args[1].(*number)
			a.n, b.n = a.n+1, b.n+1
			c.Finished(0)
			c.Finished(2)
			select {
			case <-go_:
			case <-c.Ctx.Done():
			}
			b.n++
			return nil
		}}}}
		look := &versions.Op{Name: "look", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
			x := c.Args[0].(*number)
			x.n = 10*x.n + c.Args[len(c.Args)-1].(*number).n
			read <- x.n
			return nil
		}}}}
		n := start(t, 2, func(o *cluster.Options) { o.Idle, o.Owner, o.Ops = true, true, append(o.Ops, early, look) })
		data := make([]graph.Datum, 4)
		for i := range data {
			data[i] = graph.Datum{Key: graph.Key{Matrix: 1, I: int32(i)}, Value: &number{uint64(i)}, Bytes: 8, Owner: int32(i % 2)}
		}
		a, b, c, d := &data[0], &data[2], &data[1], &data[3] // of agent0, agent0, agent1, agent1
		j := n.NewJob(context.Background())
		submit := func(op *versions.Op, operands ...graph.Operand) {
			t.Helper()
			if _, err := j.Submit(&graph.Spec{Op: op, Operands: operands}); err != nil {
				t.Fatal(err)
			}
		}
		submit(early, graph.Operand{Datum: a, Mode: graph.InOut}, graph.Operand{Datum: b, Mode: graph.InOut}, graph.Operand{Datum: d, Mode: graph.In})
		submit(look, graph.Operand{Datum: c, Mode: graph.InOut}, graph.Operand{Datum: a, Mode: graph.In}) // c = 10·1 + 1
		submit(look, graph.Operand{Datum: d, Mode: graph.InOut})                                          // d = 11·3
		submit(look, graph.Operand{Datum: a, Mode: graph.InOut}, graph.Operand{Datum: b, Mode: graph.In})
		first, second := <-read, <-read // while the first one waits
		if first+second != 11+33 {
			t.Errorf("others read %d and %d", first, second)
		}
		if lose {
			n.killNode(n.Nodes()[1])
		}
		close(go_) // also for who makes b again
		if err := j.Wait(); err != nil {
			t.Fatal(err)
		}
		for i, want := range []uint64{14, 11, 4, 33} { // a = 10·1 + 4
			if x := data[i].Value.(*number).n; x != want {
				t.Errorf("lose %t: datum %d is %d, want %d", lose, i, x, want)
			}
		}
	}
}
