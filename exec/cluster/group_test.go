package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/internal/faulty"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// meetings stand in for MPI: ranks of a group add up numbers.
type meetings struct {
	mu  sync.Mutex
	of  map[uint64]*meeting // by group
	all sync.WaitGroup
}

type meeting struct {
	sum   uint64
	nodes map[string]bool
	full  chan struct{}
}

// sum returns the sum of what all ranks have passed, and whether all have come before the group has failed.
func (x *meetings) sum(g *transport.Group, node string, n uint64) (uint64, bool) {
	x.mu.Lock()
	m := x.of[g.Number]
	if m == nil {
		m = &meeting{nodes: map[string]bool{}, full: make(chan struct{})}
		x.of[g.Number] = m
	}
	m.sum += n
	m.nodes[node] = true
	if len(m.nodes) == len(g.Nodes) {
		close(m.full)
	}
	x.mu.Unlock()
	select {
	case <-m.full:
		return m.sum, true
	case <-g.Failed:
		return 0, false
	}
}

// total is the parameter of op "total".
type total struct {
	Early bool
	Fail  int   // the rank that fails, from 1
	Sleep int64 // milliseconds
}

// totalOp: each rank gets the sum over all ranks of what it has, plus its rank.
func totalOp(x *meetings, node string) *versions.Op {
	return &versions.Op{Name: "total", NewParams: func() any { return new(total) }, Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		g, p := c.Local.(*transport.Group), c.Params.(*total)
		switch {
		case g.Nodes[g.Rank] != node:
			return errors.New("the group has another node for this rank")
		case p.Fail == g.Rank+1:
			return &fatal{uint64(g.Rank)}
		}
		time.Sleep(time.Duration(p.Sleep) * time.Millisecond)
		sum, ok := x.sum(g, node, c.Args[0].(*number).n)
		if !ok {
			return errors.New("another rank has failed")
		}
		if c.Args[0].(*number).n = sum + uint64(g.Rank); p.Early {
			c.Finished(0)
			time.Sleep(100 * time.Microsecond)
		}
		return nil
	}}}}
}

// grouped is nodes that have op "total".
type grouped struct {
	*nodes
	total *versions.Op // of the driver
}

// groups starts a driver and agents.
func groups(t testing.TB, agents int, set func(*cluster.Options)) *grouped {
	t.Helper()
	return groupsOn(t, transport.NewNetwork().Node, agents, set)
}

// groupsOn is groups with the nodes of a network.
func groupsOn(t testing.TB, node func(string) (transport.Transport, error), agents int, set func(*cluster.Options)) *grouped {
	t.Helper()
	x, n := &meetings{of: map[uint64]*meeting{}}, &grouped{}
	n.nodes = startOn(t, node, agents, func(o *cluster.Options) {
		op := totalOp(x, o.Transport.Self())
		if o.Ops = append(o.Ops, op); o.Transport.Self() == "driver" {
			n.total = op
		}
		if set != nil {
			set(o)
		}
	})
	return n
}

// ranks returns the specs of a group on some data.
func (n *grouped) ranks(p *total, data ...*graph.Datum) (all []graph.Spec) {
	for _, d := range data {
		all = append(all, graph.Spec{Op: n.total, Params: p, Operands: []graph.Operand{{Datum: d, Mode: graph.InOut}}})
	}
	return all
}

// TestGroup: groups among other tasks, of two jobs at once, leave what the sequential program does. No two ranks of a
// group are on one node, and none waits for a group that waits for it.
func TestGroup(t *testing.T) {
	leaves(t)
	for seed := range uint64(12) {
		n := groups(t, 3, func(o *cluster.Options) {
			o.Idle, o.Policy, o.Owner = seed%2 == 0, dispatch.Kinds()[seed%3], false
			if seed%3 == 1 {
				o.Memory = 48 // six of twelve data
			}
		})
		var both sync.WaitGroup
		for job := range uint64(2) {
			both.Go(func() { mixed(t, n, rand.New(rand.NewPCG(seed, job)), 3+int(seed%2)) })
		}
		both.Wait()
		n.Close()
	}
}

// mixed runs a random program of tasks and of groups of up to most ranks.
func mixed(t *testing.T, n *grouped, rng *rand.Rand, most int) {
	p := newProgram(n.op, rng, 12, 100, 50)
	want := map[*graph.Datum]*number{}
	for i := range p.data {
		p.want[i] = *p.data[i].Value.(*number) // the tasks follow
		want[&p.data[i]] = &p.want[i]
	}
	j := n.NewJob(context.Background())
	for i := range p.specs {
		s := &p.specs[i]
		var all []*number
		for _, o := range s.Operands {
			all = append(all, want[o.Datum])
		}
		s.Params.(*mix).apply(all)
		if _, err := j.Submit(s); err != nil {
			t.Error(err)
			return
		}
		if i%5 > 0 {
			continue
		}
		var data []*graph.Datum
		sum, perm := uint64(0), rng.Perm(len(p.data))[:1+rng.IntN(most)]
		for _, k := range perm {
			data = append(data, &p.data[k])
			sum += p.want[k].n
		}
		for rank, k := range perm {
			p.want[k].n = sum + uint64(rank)
		}
		if ids, err := cluster.SubmitGroup(j, n.ranks(&total{Early: i%2 == 0}, data...)); err != nil || len(ids) != len(data) {
			t.Errorf("%d tasks, %v", len(ids), err)
			return
		}
	}
	if err := j.Wait(); err != nil {
		t.Error(err)
		return
	}
	for i := range p.data {
		if got := p.data[i].Value.(*number).n; got != p.want[i].n {
			t.Errorf("datum %d is %x, want %x", i, got, p.want[i].n)
		}
	}
}

// TestGroupFails: the failure of a rank is that of its group, of whatever rank it is; the others are told.
func TestGroupFails(t *testing.T) {
	leaves(t)
	n := groups(t, 3, nil)
	for rank := range 3 {
		data := make([]graph.Datum, 4)
		var of []*graph.Datum
		for i := range data {
			data[i].Value = &number{uint64(i)}
			of = append(of, &data[i])
		}
		j := n.NewJob(context.Background())
		if _, err := cluster.SubmitGroup(j, n.ranks(&total{Fail: rank + 1}, of[:3]...)); err != nil {
			t.Fatal(err)
		}
		// It waits for the group, and so do its other ranks.
		if _, err := cluster.SubmitGroup(j, n.ranks(&total{}, of[2:]...)); err != nil && !errors.As(err, new(*fatal)) {
			t.Fatal(err)
		}
		err := j.Wait()
		var f *fatal
		var e *exec.TaskError
		if !errors.As(err, &f) || f.Seed != uint64(rank) || !errors.As(err, &e) || int(e.Task) != rank+1 {
			t.Errorf("rank %d: error %v", rank, err)
		}
	}
	j := n.NewJob(context.Background())
	d := graph.Datum{Value: &number{7}}
	if _, err := cluster.SubmitGroup(j, n.ranks(&total{}, &d)); err != nil || j.Wait() != nil {
		t.Errorf("after failures: %v, %v", err, j.Wait())
	}
}

// TestGroupEarly: what a rank has finished with is there for tasks on other nodes while the ranks go on.
func TestGroupEarly(t *testing.T) {
	leaves(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	read, wait := make(chan uint64, 1), make(chan bool)
	early := &versions.Op{Name: "early", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		if c.Local.(*transport.Group).Rank == 1 {
			c.Args[0].(*number).n++
			c.Finished(0)
		}
		select {
		case <-wait:
		case <-ctx.Done():
		}
		return nil
	}}}}
	look := &versions.Op{Name: "look", Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		c.Args[0].(*number).n = 10 * c.Args[1].(*number).n
		read <- c.Args[1].(*number).n
		return nil
	}}}}
	n := start(t, 3, func(o *cluster.Options) { o.Idle, o.Ops = true, append(o.Ops, early, look) })
	data := make([]graph.Datum, 3)
	for i := range data {
		data[i].Value = &number{uint64(i)}
	}
	j := n.NewJob(ctx)
	var specs []graph.Spec
	for i := range 2 {
		specs = append(specs, graph.Spec{Op: early, Operands: []graph.Operand{{Datum: &data[i], Mode: graph.InOut}}})
	}
	if _, err := cluster.SubmitGroup(j, specs); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Submit(&graph.Spec{Op: look, Operands: []graph.Operand{{Datum: &data[2], Mode: graph.Out}, {Datum: &data[1], Mode: graph.In}}}); err != nil {
		t.Fatal(err)
	}
	if x := soon(ctx, t, "early", read, wait); x != 2 {
		t.Errorf("another node has read %d, want 2", x)
	}
	close(wait)
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestGroupCancel: a group of which a rank waits behind another task is cancelled with its job.
func TestGroupCancel(t *testing.T) {
	leaves(t)
	n := groups(t, 2, func(o *cluster.Options) {
		rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rt.Close() })
		o.Idle, o.Runtime = true, rt
	})
	ctx, cancel := context.WithCancelCause(context.Background())
	data := make([]graph.Datum, 3)
	for i := range data {
		data[i].Value = &number{}
	}
	j := n.NewJob(ctx)
	if _, err := j.Submit(&graph.Spec{Op: n.op, Params: &mix{Sleep: 50_000, Writes: 1}, Operands: []graph.Operand{{Datum: &data[0], Mode: graph.InOut}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.SubmitGroup(j, n.ranks(&total{}, &data[1], &data[2])); err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	cancel(why)
	if err := j.Wait(); !errors.Is(err, why) && err != nil { // the group may have ended before
		t.Errorf("error %v", err)
	}
}

// TestGroupRefused: what cannot be a group is refused, and nothing of it is submitted.
func TestGroupRefused(t *testing.T) {
	n := groups(t, 2, nil)
	data := make([]graph.Datum, 4)
	for i := range data {
		data[i].Value = &number{}
	}
	two := func() []graph.Spec { return n.ranks(&total{}, &data[0], &data[1]) }
	for want, specs := range map[string][]graph.Spec{
		"at least one":        nil,
		"3 nodes are there":   n.ranks(&total{}, &data[0], &data[1], &data[2], &data[3]),
		"retried or ignored":  func() []graph.Spec { s := two(); s[1].Failure = &graph.Failure{Retries: 1}; return s }(),
		"which rank 1 writes": n.ranks(&total{}, &data[0], &data[0]),
		"neither In, Out":     func() []graph.Spec { s := two(); s[0].Operands[0].Mode = graph.Commute; return s }(),
		"no other node can have": func() []graph.Spec {
			s := two()
			s[0].Operands = append(s[0].Operands, graph.Operand{Datum: &graph.Datum{Value: new(int)}, Mode: graph.In})
			return s
		}(),
		"on the driver only": func() []graph.Spec { s := two(); s[1].Op = &versions.Op{Name: "b", Bound: true}; return s }(),
	} {
		j := n.NewJob(context.Background())
		_, err := cluster.SubmitGroup(j, specs)
		var bad *cluster.GroupError
		if !errors.As(err, &bad) || bad.Ranks != len(specs) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if err := j.Wait(); err != nil || j.Completed() != 0 {
			t.Errorf("%q: %v, %d tasks", want, err, j.Completed())
		}
	}
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	if _, err := cluster.SubmitGroup(rt.NewJob(context.Background()), two()); !errors.As(err, new(*cluster.GroupError)) {
		t.Errorf("on one machine: %v", err)
	}
}

// TestGroupFaults: with slow messages, fetches that fail, and nodes that cannot fetch from one another for a while, groups
// end well. If a node is lost they end well, or with its loss. Groups that had not begun go on without it.
func TestGroupFaults(t *testing.T) {
	ends := map[bool]int{}
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) { ends[groupFaults(t, seed)]++ })
	}
	if ends[true] == 0 || ends[false] == 0 {
		t.Errorf("%d runs ended well, and %d did not", ends[true], ends[false])
	}
}

// groupFaults reports whether the groups of a run have ended well.
func groupFaults(t *testing.T, seed uint64) bool {
	rng := rand.New(rand.NewPCG(seed, 5))
	net := faulty.New(faulty.Options{Seed: seed, Delay: 5 * time.Millisecond, FetchLoss: 0.3, FetchDamage: 0.1})
	n := groupsOn(t, net.Node, 3, func(o *cluster.Options) {
		rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rt.Close() })
		o.Runtime, o.Idle, o.Log = rt, seed%4 == 0, slog.New(slog.DiscardHandler)
	})
	defer n.Close()
	after := func() time.Duration { return time.Duration(rng.IntN(400)) * time.Millisecond }
	switch seed % 3 {
	case 1:
		victim := n.Kill[rng.IntN(3)]
		defer time.AfterFunc(after(), victim).Stop()
	case 2:
		a, b := rng.IntN(3), rng.IntN(2)
		defer time.AfterFunc(after(), func() { net.CutValues([]string{fmt.Sprint("agent", a)}, []string{fmt.Sprint("agent", (a+1+b)%3)}) }).Stop()
	}
	data, want := make([]graph.Datum, 6), make([]uint64, 6)
	for i := range data {
		want[i] = uint64(i)
		data[i].Value, data[i].Bytes = &number{want[i]}, 8
	}
	j := n.NewJob(context.Background())
	var err error
	for range 15 {
		var of []*graph.Datum
		sum, perm := uint64(0), rng.Perm(len(data))[:1+rng.IntN(3)]
		for _, k := range perm {
			of = append(of, &data[k])
			sum += want[k]
		}
		for rank, k := range perm {
			want[k] = sum + uint64(rank)
		}
		if _, err = cluster.SubmitGroup(j, n.ranks(&total{Early: seed%5 == 0, Sleep: rng.Int64N(10)}, of...)); err != nil {
			break
		}
		m := &mix{Reads: 1, Writes: 1, Sleep: rng.Int64N(40_000)}
		x := number{want[perm[0]]}
		m.apply([]*number{&x})
		want[perm[0]] = x.n
		if _, err = j.Submit(&graph.Spec{Op: n.op, Params: m, Operands: []graph.Operand{{Datum: of[0], Mode: graph.InOut}}}); err != nil {
			break
		}
	}
	err = errors.Join(j.Wait(), err)
	var lost *cluster.NodeLostError
	var few *cluster.GroupError
	if err != nil {
		if seed%3 != 1 || !errors.As(err, &lost) && !errors.As(err, &few) {
			t.Errorf("seed %d: %v", seed, err)
		}
		return false
	}
	for i := range data {
		if got := data[i].Value.(*number).n; got != want[i] {
			t.Errorf("seed %d: datum %d is %x, want %x", seed, i, got, want[i])
		}
	}
	return true
}
