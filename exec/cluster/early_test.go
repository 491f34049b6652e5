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

// soon returns what comes, or fails once ctx has ended; then wait is closed, or else the task that
// waits would keep the nodes from being closed.
func soon(ctx context.Context, t *testing.T, what string, read <-chan uint64, wait chan bool) uint64 {
	t.Helper()
	select {
	case x := <-read:
		return x
	case <-ctx.Done():
		close(wait)
		t.Fatalf("%s: no task on another node has read what a task that waits has finished with", what)
	}
	return 0
}

// TestEarly: what a task has finished with is there for tasks on other nodes while it goes on, to
// be read and to be written over; it waits for these here. When its node is lost then, what it
// has not finished with is made again, and what others have made of the rest stays.
func TestEarly(t *testing.T) {
	leaves(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
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
		j := n.NewJob(ctx)
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
		first := soon(ctx, t, "early", read, go_) // while the first one waits
		if second := soon(ctx, t, "early", read, go_); first+second != 11+33 {
			t.Errorf("others read %d and %d", first, second)
		}
		if lose {
			n.killNode(n.Nodes()[1])
		}
		close(go_) // also for the node that makes b again
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

// TestEarlyParts: what one of the workers of a task has finished with, and what its children have
// made of an operand that is handed on, is there for tasks on other nodes while the task goes on.
func TestEarlyParts(t *testing.T) {
	leaves(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	add := func(wait <-chan bool) *versions.Op {
		return &versions.Op{Name: "add", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
			if wait != nil {
				select {
				case <-wait:
				case <-c.Ctx.Done():
				}
			}
			c.Args[0].(*number).n++
			return nil
		}}}}
	}
	for name, early := range map[string]func(*versions.Call, <-chan bool) error{
		"workers": func(c *versions.Call, wait <-chan bool) error {
			if c.Gang == nil || c.Gang.Units() != 2 {
				t.Error("the task has not got two workers")
			}
			c.Parallel(2, func(i int, _ *versions.Workspace) {
				if i == 1 {
					<-wait
				}
				c.Args[i].(*number).n++
				c.Finished(i)
			})
			return nil
		},
		"children": func(c *versions.Call, wait <-chan bool) error {
			children, err := exec.NestedHere(c)
			if err != nil {
				return err
			}
			for i, op := range []*versions.Op{add(nil), add(wait)} {
				d := &graph.Datum{Value: c.Args[i], Bytes: 8}
				if _, err := children.Submit(&graph.Spec{Op: op, Operands: []graph.Operand{{Datum: d, Mode: graph.InOut}}}); err != nil {
					return err
				}
				children.Hand(d, i)
			}
			return nil
		},
	} {
		read, wait := make(chan uint64, 1), make(chan bool)
		op := &versions.Op{Name: "early", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error { return early(c, wait) }}}}
		if name == "workers" {
			op.Versions[0].Constraints.Units = 2
		}
		look := &versions.Op{Name: "look", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
			c.Args[0].(*number).n = 10 * c.Args[1].(*number).n
			read <- c.Args[1].(*number).n
			return nil
		}}}}
		n := start(t, 2, func(o *cluster.Options) {
			rt, err := exec.NewLocal(exec.Options{Workers: 2, Float: true, Target: versions.Target{Units: 2}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { rt.Close() })
			o.Idle, o.Owner, o.Runtime, o.Ops = true, true, rt, append(o.Ops, op, look)
		})
		data := make([]graph.Datum, 3)
		for i := range data {
			data[i] = graph.Datum{Key: graph.Key{Matrix: 1, I: int32(i)}, Value: &number{uint64(i)}, Bytes: 8, Owner: int32(i / 2)}
		}
		j := n.NewJob(ctx)
		for _, s := range []graph.Spec{
			{Op: op, Operands: []graph.Operand{{Datum: &data[0], Mode: graph.InOut}, {Datum: &data[1], Mode: graph.InOut}}},
			{Op: look, Operands: []graph.Operand{{Datum: &data[2], Mode: graph.Out}, {Datum: &data[0], Mode: graph.In}}}, // on the other node
		} {
			if _, err := j.Submit(&s); err != nil {
				t.Fatal(err)
			}
		}
		if x := soon(ctx, t, name, read, wait); x != 1 { // while the task waits
			t.Errorf("%s: another node has read %d, want 1", name, x)
		}
		close(wait)
		if err := j.Wait(); err != nil {
			t.Fatal(name, err)
		}
		for i, want := range []uint64{1, 2, 10} {
			if x := data[i].Value.(*number).n; x != want {
				t.Errorf("%s: datum %d is %d, want %d", name, i, x, want)
			}
		}
	}
}

// sharedFetches is a transport that says when its node fetches.
type sharedFetches struct {
	transport.Transport
	fetched chan<- string
}

func (f *sharedFetches) Fetch(ctx context.Context, from string, r transport.Ref, wait time.Duration, into versions.Value) error {
	err := f.Transport.Fetch(ctx, from, r, wait, into)
	f.fetched <- from
	return err
}

// TestEarlyHome: what no task uses any more comes into the program's memory while others run.
func TestEarlyHome(t *testing.T) {
	leaves(t)
	fetched, go_ := make(chan string, 2), make(chan bool)
	wait := &versions.Op{Name: "wait", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		select {
		case <-go_:
		case <-c.Ctx.Done():
		}
		c.Args[0].(*number).n++
		return nil
	}}}}
	n := start(t, 1, func(o *cluster.Options) {
		if o.Idle, o.Ops = true, append(o.Ops, wait); o.Transport.Self() == "driver" {
			o.Transport = &sharedFetches{o.Transport, fetched}
		}
	})
	data := make([]graph.Datum, 2)
	j := n.NewJob(context.Background())
	for i, op := range []*versions.Op{n.op, wait} {
		data[i] = graph.Datum{Value: &number{uint64(i)}, Bytes: 8}
		s := graph.Spec{Op: op, Operands: []graph.Operand{{Datum: &data[i], Mode: graph.InOut}}}
		if op == n.op {
			s.Params = &mix{Seed: 7, Writes: 1}
		}
		if _, err := j.Submit(&s); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() { done <- j.Wait() }()
	select {
	case <-fetched:
	case <-time.After(5 * time.Minute):
		t.Error("nothing has come before the last task has ended")
	}
	close(go_)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if x := data[0].Value.(*number).n; x != 7 {
		t.Errorf("datum 0, which came early, is %d, want 7", x)
	}
	if x := data[1].Value.(*number).n; x != 2 {
		t.Errorf("datum 1 is %d, want 2", x)
	}
}
