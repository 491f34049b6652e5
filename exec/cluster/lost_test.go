package cluster_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/internal/faulty"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/versions"
)

// counts is a slog.Handler that counts what is said.
type counts struct{ of sync.Map }

func (c *counts) Enabled(context.Context, slog.Level) bool { return true }
func (c *counts) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c *counts) WithGroup(string) slog.Handler            { return c }

func (c *counts) Handle(_ context.Context, r slog.Record) error {
	n, _ := c.of.LoadOrStore(r.Message, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
	return nil
}

func (c *counts) get(message string) int64 {
	n, ok := c.of.Load(message)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

// TestLost: agents that go at any moment, all of them as well, leave the right results:
// what they took with them is made again.
func TestLost(t *testing.T) {
	leaves(t)
	var said counts
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := start(t, 3, func(o *cluster.Options) {
			o.Window, o.Idle, o.Owner, o.Log = 20+rng.IntN(200), seed%2 == 0, seed%4 < 2, slog.New(&said)
		})
		p := newProgram(n.op, rng, 30, 200, 100).spreads(n.op)
		for range 1 + rng.IntN(3) {
			kill := n.Kill[rng.IntN(3)]
			timer := time.AfterFunc(time.Duration(rng.IntN(20_000))*time.Microsecond, kill)
			defer timer.Stop()
		}
		j := n.NewJob(context.Background())
		p.run(t, j, seed, rng)
		n.Close()
	}
	if n := said.get("what was lost with a node is made again"); n < 1 {
		t.Errorf("in %d of 40 runs something was lost", n)
	}
}

// TestJoin: an agent that comes takes part in the job that is under way, under every policy,
// also when another one is lost.
func TestJoin(t *testing.T) {
	leaves(t)
	for seed := range uint64(2 * len(dispatch.Kinds())) { // in virtual time
		synctest.Test(t, func(t *testing.T) { join(t, seed) })
	}
}

func join(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 9))
	n := start(t, 1, func(o *cluster.Options) {
		if o.Idle = true; seed < 2 {
			o.Owner = true
		} else {
			o.Policy = dispatch.Kinds()[seed/2]
		}
	})
	p := newProgram(n.op, rng, 20, 300, 200)
	for i := range p.data {
		p.data[i].Owner = int32(i % 2)
	}
	j := n.NewJob(context.Background())
	for i := range p.specs {
		if _, err := j.Submit(&p.specs[i]); err != nil {
			t.Fatal(err)
		}
		if i == 100 {
			n.More()
		}
		if i == 200 {
			if err := n.Await(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			if seed%2 == 1 {
				n.Kill[0]()
			}
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	p.check(t)
	if u := n.Usage()[2]; u.Tasks["mix"] == 0 {
		t.Errorf("seed %d: the agent that came has done nothing", seed)
	}
	n.Close()
}

// TestKept: values that are kept stay on the nodes from job to job, the program's memory
// has nothing of them, and what is lost is made again, in a job and between two.
func TestKept(t *testing.T) {
	leaves(t)
	var said counts
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n := start(t, 3, func(o *cluster.Options) { o.Idle, o.Log = seed%2 == 0, slog.New(&said) })
		p := newProgram(n.op, rng, 24, 0, 0)
		var values []versions.Shaped
		for i := range p.data {
			if i%3 > 0 {
				v := &number{}
				p.data[i].Value, p.want[i].n = v, 0
				values = append(values, v)
			}
		}
		kept, err := n.Keep(values)
		if err != nil {
			t.Fatal(err)
		}
		check := func(i int) error {
			v := p.data[i].Value.(*number)
			if i%3 > 0 {
				if v.n != 0 {
					t.Fatalf("seed %d: datum %d is in the program's memory", seed, i)
				}
				v = &number{}
				if err := kept.Fetch(context.Background(), p.data[i].Value.(*number), v); err != nil {
					return err
				}
			}
			if v.n != p.want[i].n {
				t.Fatalf("seed %d: datum %d is %x, want %x", seed, i, v.n, p.want[i].n)
			}
			return nil
		}
		for round := range 3 {
			q := newProgram(n.op, rng, 0, 0, 0)
			q.data, q.want = p.data, p.want
			q.add(n.op, rng, 60, 60)
			if round < 2 && seed%4 > 0 {
				kill := n.Kill[round]
				if seed%4 == 1 {
					kill() // between jobs
				} else {
					defer time.AfterFunc(time.Duration(rng.IntN(3000))*time.Microsecond, kill).Stop()
				}
			}
			j := n.NewJob(context.Background())
			for i := range q.specs {
				if _, err := j.Submit(&q.specs[i]); err != nil {
					break // which Wait says again
				}
			}
			err := j.Wait()
			for i := 0; i < len(p.data) && err == nil; i++ {
				err = check(i)
			}
			if err != nil {
				// It was made from what the program's memory had, and has not any more.
				var lost *cluster.NodeLostError
				if !errors.As(err, &lost) || lost.Data == "" {
					t.Fatalf("seed %d round %d: %v", seed, round, err)
				}
				said.Handle(context.Background(), slog.Record{Message: "lost for good"})
				break
			}
		}
		kept.Release()
		if err := kept.Fetch(context.Background(), values[0], &number{}); err == nil {
			t.Error("a value that was released is there")
		}
		n.Close()
	}
	if n := said.get("what was lost with a node is made again"); n < 1 {
		t.Errorf("in %d of 30 runs something was lost", n)
	}
	t.Logf("%d lost for good", said.get("lost for good"))
}

// soak is how many random programs have faults: see make soak, which has many more.
var soak = flag.Uint64("seeds", 200, "seeds of TestFaults, unless -short is given")

// TestFaults: messages are lost, doubled, reordered and damaged, fetches fail, nodes are cut
// off, stand still and crash. Random programs leave what they should.
func TestFaults(t *testing.T) {
	leaves(t)
	seeds := uint64(40)
	if !testing.Short() {
		seeds = *soak
	}
	var said counts
	t.Run("seeds", func(t *testing.T) { // which returns when all parts have ended
		parts := uint64(runtime.GOMAXPROCS(0))
		for part := range parts {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for seed := part; seed < seeds && !t.Failed(); seed += parts {
					// Time is virtual: it passes when all wait.
					synctest.Test(t, func(t *testing.T) { withFaults(t, seed, &said) })
				}
			})
		}
	})
	t.Logf("made again %d times", said.get("what was lost with a node is made again"))
}

// faultyNetwork returns a network with the faults of a seed.
func faultyNetwork(seed uint64) *faulty.Network {
	return faulty.New(faulty.Options{
		Seed: seed, Delay: time.Millisecond, FetchLoss: 0.01, FetchDamage: 0.01,
		Patience: 20 * time.Millisecond, Timeout: 150 * time.Millisecond,
	})
}

// withFaults runs the random program of a seed on nodes with the faults of that seed.
func withFaults(t *testing.T, seed uint64, said *counts) {
	defer time.AfterFunc(time.Hour, func() { panic(fmt.Sprintf("seed %d: nothing gets on", seed)) }).Stop()
	rng := rand.New(rand.NewPCG(seed, 6))
	faults := faultyNetwork(seed)
	n := startOn(t, faults.Node, 3+int(seed%4), func(o *cluster.Options) {
		o.Window, o.Idle, o.Owner, o.Log = 100, seed%2 == 0, seed%3 > 0, slog.New(said)
	})
	ctx, stop := context.WithCancel(context.Background())
	steps := faulty.Draw(faulty.Plan{Seed: seed, Nodes: []string{"driver", "agent0", "agent1", "agent2"}, Steps: 4,
		Every: 20 * time.Millisecond, Outage: time.Duration(1+rng.IntN(300)) * time.Millisecond, Mortal: []string{"agent1"}})
	var played sync.WaitGroup
	played.Go(func() { _ = faults.Play(ctx, steps) })
	p := newProgram(n.op, rng, 20, 200, 100).spreads(n.op)
	j := n.NewJob(context.Background())
	p.run(t, j, seed, rng)
	stop()
	played.Wait()
	faults.Heal()
	for _, u := range n.Usage() { // what only copies is no task of the program
		if u.Tasks[""] > 0 {
			t.Errorf("seed %d: %s has executed %d tasks without an op", seed, u.Node, u.Tasks[""])
		}
	}
	n.Close()
}
