package cluster_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/internal/faulty"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// numbers is a value of which parts are values, too.
type numbers struct{ n []uint64 }

func (v *numbers) Bytes() int64             { return int64(8 * len(v.n)) }
func (v *numbers) Snapshot() versions.Value { return &numbers{slices.Clone(v.n)} }
func (v *numbers) Restore(s versions.Value) { copy(v.n, s.(*numbers).n) }
func (v *numbers) Encode(w io.Writer) error { return binary.Write(w, binary.LittleEndian, v.n) }
func (v *numbers) Decode(r io.Reader) error { return binary.Read(r, binary.LittleEndian, v.n) }
func (v *numbers) Shape() []byte            { return []byte{byte(len(v.n))} }
func (v *numbers) Reshape(b []byte) error {
	if len(b) != 1 {
		return errors.New("no numbers")
	}
	v.n = make([]uint64, b[0])
	return nil
}

// split is the parameter of op "split": a task that leaves its work to children on the halves of
// its operands, so many levels deep.
type split struct {
	Seed          uint64
	Reads, Writes uint64 // a bit for each operand
	Depth         int
	Sleep         int64 // microseconds, of the last level
	Wait, Fail    bool
}

// leaf is what a task without children does.
func (p *split) leaf(args []*numbers) {
	h := p.Seed
	for i, v := range args {
		for _, x := range v.n {
			if p.Reads>>i&1 != 0 {
				h = (h ^ x) * 0x9e3779b97f4a7c15
			}
		}
	}
	for i, v := range args {
		for k := range v.n {
			if p.Writes>>i&1 != 0 {
				v.n[k] = h + uint64(i<<16+k)
			}
		}
	}
}

// children calls f for each child of a task on so many operands, with its parameter and, of
// each of its operands, the number of the half that it uses: 2i and 2i+1 are those of operand i.
func (p *split) children(operands int, f func(c *split, halves []int) error) error {
	rng := rand.New(rand.NewPCG(p.Seed, uint64(p.Depth)))
	for range 5 {
		c := &split{Seed: rng.Uint64(), Depth: p.Depth - 1, Sleep: p.Sleep, Wait: rng.IntN(2) == 0}
		halves := rng.Perm(2 * operands)[:1+rng.IntN(min(3, 2*operands))]
		for i, k := range halves {
			writes := p.Writes>>(k/2)&1 != 0 && rng.IntN(3) > 0
			if !writes || c.Depth > 0 || rng.IntN(3) > 0 {
				c.Reads |= 1 << i
			}
			if writes {
				c.Writes |= 1 << i
			}
		}
		if err := f(c, halves); err != nil {
			return err
		}
	}
	return nil
}

// halves returns the parts that children use.
func halves(args []*numbers) (all []*numbers) {
	for _, v := range args {
		m := len(v.n) / 2
		all = append(all, &numbers{v.n[:m]}, &numbers{v.n[m:]})
	}
	return all
}

// apply is op "split" without a runtime.
func (p *split) apply(args []*numbers) {
	if p.Depth == 0 {
		p.leaf(args)
		return
	}
	parts := halves(args)
	_ = p.children(len(args), func(c *split, use []int) error {
		var of []*numbers
		for _, k := range use {
			of = append(of, parts[k])
		}
		c.apply(of)
		return nil
	})
}

// spec returns a task on some data.
func (p *split) spec(op *versions.Op, data ...*graph.Datum) *graph.Spec {
	s := &graph.Spec{Op: op, Params: p}
	for i, d := range data {
		mode := graph.Mode(0)
		if p.Reads>>i&1 != 0 {
			mode |= graph.In
		}
		if p.Writes>>i&1 != 0 {
			mode |= graph.Out
		}
		s.Operands = append(s.Operands, graph.Operand{Datum: d, Mode: mode})
	}
	return s
}

// splitOp returns op "split", which counts its tasks by their depth, and tells of each.
func splitOp(ran *[4]atomic.Int64, tell func()) *versions.Op {
	op := &versions.Op{Name: "split", NewParams: func() any { return new(split) }}
	op.Versions = []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		p := c.Params.(*split)
		ran[p.Depth].Add(1)
		tell()
		var args []*numbers
		for _, a := range c.Args {
			args = append(args, a.(*numbers))
		}
		if p.Depth == 0 {
			time.Sleep(time.Duration(p.Sleep) * time.Microsecond)
			if p.leaf(args); p.Fail {
				return &fatal{p.Seed}
			}
			return nil
		}
		job, err := exec.Nested(c)
		if err != nil {
			return err
		}
		parts := halves(args)
		data := make([]graph.Datum, len(parts))
		for i, v := range parts {
			data[i].Value, data[i].Bytes = v, v.Bytes()
		}
		err = p.children(len(args), func(c *split, use []int) error {
			var of []*graph.Datum
			for _, k := range use {
				of = append(of, &data[k])
			}
			if c.Depth == 0 {
				c.Fail = p.Fail
			}
			_, err := job.Submit(c.spec(op, of...))
			if err == nil && c.Wait {
				err = job.WaitOn(of[0])
			}
			return err
		})
		if err == nil && p.Wait {
			err = job.Wait()
		}
		return err
	}}}
	return op
}

// tree is nodes of which some are below others.
type tree struct {
	*nodes
	ran map[string]*[4]atomic.Int64 // tasks by node and depth
	op  *versions.Op

	begun atomic.Int64 // tasks on all nodes
	fuses sync.Map     // int64: context.CancelFunc, called when so many have begun
}

// startTree starts a driver and agents; parents are the names of those above each of these.
func startTree(t *testing.T, set func(*cluster.Options), parents ...string) *tree {
	return startTreeOn(t, transport.NewNetwork().Node, set, parents...)
}

// startTreeOn is startTree with the nodes of a network.
func startTreeOn(t testing.TB, node func(name string) (transport.Transport, error), set func(*cluster.Options), parents ...string) *tree {
	x := &tree{ran: map[string]*[4]atomic.Int64{}}
	x.nodes = startOn(t, node, len(parents), func(o *cluster.Options) {
		name := o.Transport.Self()
		if x.ran[name] == nil {
			x.ran[name] = &[4]atomic.Int64{}
		}
		if name != "driver" {
			o.Parent = parents[name[len("agent")]-'0']
		}
		o.Ops, o.Values = []*versions.Op{splitOp(x.ran[name], x.begins)}, append(o.Values, &numbers{})
		if set != nil {
			set(o)
		}
	})
	x.op = x.nodes.op
	x.await(t, parents)
	return x
}

// begins counts a task.
func (x *tree) begins() {
	if f, ok := x.fuses.LoadAndDelete(x.begun.Add(1)); ok {
		f.(context.CancelFunc)()
	}
}

// await waits until the driver knows how many workers there are below its agents.
func (x *tree) await(t testing.TB, parents []string) {
	t.Helper()
	want := 0
	for _, p := range parents {
		if p != "" {
			want += 2
		}
	}
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		got := 0
		for _, u := range x.Usage() {
			got += u.Below
		}
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d workers are below the agents, want %d", got, want)
		}
	}
}

// nested is a random program of tasks that split themselves.
type nested struct {
	data  []graph.Datum
	want  []*numbers
	specs []*graph.Spec
}

func newNested(op *versions.Op, rng *rand.Rand, data, tasks, depth int, sleep int64) *nested {
	p := &nested{data: make([]graph.Datum, data)}
	for i := range p.data {
		v := &numbers{make([]uint64, 16)}
		for k := range v.n {
			v.n[k] = rng.Uint64()
		}
		p.want = append(p.want, v.Snapshot().(*numbers))
		p.data[i].Value, p.data[i].Bytes = v, v.Bytes()
	}
	for range tasks {
		s := &split{Seed: rng.Uint64(), Depth: rng.IntN(depth + 1), Sleep: sleep, Wait: rng.IntN(2) == 0}
		var args []*numbers
		var of []*graph.Datum
		for i, k := range rng.Perm(data)[:1+rng.IntN(min(3, data))] {
			s.Reads |= 1 << i
			if rng.IntN(2) == 0 {
				s.Writes |= 1 << i
			}
			args, of = append(args, p.want[k]), append(of, &p.data[k])
		}
		s.apply(args)
		p.specs = append(p.specs, s.spec(op, of...))
	}
	return p
}

func (p *nested) check(t *testing.T) {
	t.Helper()
	for i := range p.data {
		if got := p.data[i].Value.(*numbers).n; !slices.Equal(got, p.want[i].n) {
			t.Fatalf("datum %d is %x, want %x", i, got, p.want[i].n)
		}
	}
}

// TestDomain: tasks have children, and these have some, on a driver, two agents, two that are
// below the first of these, and one below one of them.
func TestDomain(t *testing.T) {
	leaves(t)
	x := startTree(t, func(o *cluster.Options) { o.Idle = true }, "", "", "agent0", "agent0", "agent2")
	for seed := range uint64(6) {
		p := newNested(x.op, rand.New(rand.NewPCG(seed, 7)), 6, 40, 3, 0)
		job := x.NewJob(context.Background())
		for _, s := range p.specs {
			if _, err := job.Submit(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		p.check(t)
	}
	for name, ran := range x.ran {
		n := 0
		for i := range ran {
			n += int(ran[i].Load())
		}
		t.Log(name, n)
		if (n > 0) != (name != "driver") {
			t.Errorf("%s has executed %d tasks", name, n)
		}
	}
	names := x.Nodes()
	slices.Sort(names)
	if want := []string{"agent0", "agent1", "driver"}; !slices.Equal(names, want) {
		t.Errorf("the driver has %v, want %v", names, want)
	}
}

// TestDomainLost kills nodes of a tree at random moments of random programs, among them one with
// all that is below it, and starts another one.
func TestDomainLost(t *testing.T) {
	leaves(t)
	rounds := uint64(12)
	if testing.Short() {
		rounds = 4
	}
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(seed, 8))
		x := startTree(t, func(o *cluster.Options) { o.Log = slog.New(slog.DiscardHandler) }, "", "", "agent0", "agent0", "agent1", "agent2")
		p := newNested(x.op, rng, 6, 60, 3, 0)
		job := x.NewJob(context.Background())
		victims := rng.Perm(6)[:1+rng.IntN(3)]
		if slices.Contains(victims, 0) && slices.Contains(victims, 1) {
			victims = victims[:1]
		}
		for _, k := range victims {
			x.fuses.Store(1+rng.Int64N(1500), x.Kill[k])
		}
		for _, s := range p.specs {
			if _, err := job.Submit(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := job.Wait(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		p.check(t)
	}
}

// TestDomainFaults: nodes of a tree are cut off, stand still and crash, and messages are lost.
func TestDomainFaults(t *testing.T) {
	leaves(t)
	seeds := uint64(10)
	if !testing.Short() {
		seeds = min(*soak, 60)
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { withTreeFaults(t, seed) })
		})
	}
}

// withTreeFaults runs the random program of a seed on a tree with the faults of that seed.
func withTreeFaults(t *testing.T, seed uint64) {
	defer time.AfterFunc(time.Hour, func() { panic(fmt.Sprintf("seed %d: nothing gets on", seed)) }).Stop()
	rng := rand.New(rand.NewPCG(seed, 9))
	faults := faultyNetwork(seed)
	x := startTreeOn(t, faults.Node, func(o *cluster.Options) {
		o.Log = slog.New(slog.DiscardHandler)
	}, "", "", "agent0", "agent0", "agent2")
	ctx, stop := context.WithCancel(context.Background())
	steps := faulty.Draw(faulty.Plan{Seed: seed, Nodes: []string{"driver", "agent0", "agent1", "agent2", "agent3", "agent4"}, Steps: 5,
		Every: 15 * time.Millisecond, Outage: time.Duration(1+rng.IntN(300)) * time.Millisecond, Mortal: []string{"agent0", "agent2", "agent3"}[rng.IntN(3):]})
	var played sync.WaitGroup
	played.Go(func() { _ = faults.Play(ctx, steps) })
	p := newNested(x.op, rng, 6, 40, 3, 100)
	job := x.NewJob(context.Background())
	for _, s := range p.specs {
		if _, err := job.Submit(s); err != nil {
			break // which Wait says again
		}
	}
	if err := job.Wait(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	p.check(t)
	stop()
	played.Wait()
	faults.Heal()
	x.Close()
}

// TestDomainFails: the error of a task below is that of the program's task, and its job ends.
func TestDomainFails(t *testing.T) {
	leaves(t)
	x := startTree(t, func(o *cluster.Options) { o.Idle = true }, "", "agent0")
	d := graph.Datum{Value: &numbers{make([]uint64, 16)}}
	job := x.NewJob(context.Background())
	if _, err := job.Submit((&split{Seed: 3, Depth: 1, Reads: 1, Writes: 1, Fail: true}).spec(x.op, &d)); err != nil {
		t.Fatal(err)
	}
	var why *fatal
	if err := job.Wait(); !errors.As(err, &why) {
		t.Errorf("%v, want that of the child", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d = graph.Datum{Value: &numbers{make([]uint64, 16)}}
	job = x.NewJob(ctx)
	for i := range 20 {
		if i == 19 { // without the last one the job does not end
			time.Sleep(5 * time.Millisecond)
			cancel()
		}
		if _, err := job.Submit((&split{Seed: 3, Depth: 2, Reads: 1, Writes: 1, Sleep: 2000}).spec(x.op, &d)); err != nil {
			break // which Wait says again
		}
	}
	if err := job.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestDomainLends: tasks that wait for children elsewhere hold nobody up, however many there are.
func TestDomainLends(t *testing.T) {
	leaves(t)
	open, begun := make(chan struct{}), make(chan struct{}, 5)
	release := sync.OnceFunc(func() { close(open) })
	defer release()
	x := startTree(t, func(o *cluster.Options) {
		op := &versions.Op{Name: "fan", NewParams: func() any { return new(fan) }}
		op.Versions = []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
			switch c.Params.(*fan).Children {
			case 0: // a child
				exec.Await(c, func() {
					select {
					case <-open:
					case <-c.Ctx.Done():
					}
				})
			case 1:
				begun <- struct{}{}
				job, err := exec.Nested(c)
				if err != nil {
					return err
				}
				d := graph.Datum{Value: c.Args[0]}
				_, err = job.Submit(&graph.Spec{Op: op, Params: &fan{}, Operands: []graph.Operand{{Datum: &d, Mode: graph.InOut}}})
				return errors.Join(err, job.Wait())
			case 2:
				release()
			}
			return nil
		}}}
		o.Idle, o.Ops = true, []*versions.Op{op}
	}, "", "agent0")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	job := x.NewJob(ctx)
	for _, children := range []int{1, 1, 1, 1, 1, 2} {
		if children == 2 {
			for range cap(begun) {
				select {
				case <-begun:
				case <-ctx.Done():
					t.Fatal("tasks that wait keep others from beginning")
				}
			}
		}
		d := graph.Datum{Value: &numbers{make([]uint64, 2)}}
		if _, err := job.Submit(&graph.Spec{Op: x.op, Params: &fan{children}, Operands: []graph.Operand{{Datum: &d, Mode: graph.InOut}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
}

// joining is a transport that counts what is sent, and can say again that a node has joined.
type joining struct {
	blinking
	sent atomic.Int64
}

func (j *joining) Send(ctx context.Context, to string, message []byte) error {
	j.sent.Add(1)
	return j.Transport.Send(ctx, to, message)
}

// TestDomainJoinsOnce: a node that has said that it is below an agent is not called anew when the
// transport says that it has joined, which may come late. It would be gone until it answers, and
// children would run above it.
func TestDomainJoinsOnce(t *testing.T) {
	leaves(t)
	var above *joining
	startTree(t, func(o *cluster.Options) {
		if o.Idle = true; o.Transport.Self() == "agent0" {
			above = &joining{blinking: blinking{Transport: o.Transport}}
			o.Transport = above
		}
	}, "", "agent0")
	settled := func() (n int64) { // when nothing has been sent for a while
		for last := int64(-1); n != last; time.Sleep(20 * time.Millisecond) {
			last, n = n, above.sent.Load()
		}
		return n
	}
	before := settled()
	above.event(transport.Event{Node: "agent1", Joined: true})
	if after := settled(); after != before {
		t.Errorf("%d messages", after-before)
	}
}
