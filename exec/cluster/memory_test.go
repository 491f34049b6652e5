package cluster_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// TestMemory: no agent has more operands than its cap lets it, though all together do not fit
// on one, and what they compute is right. A task that fits nowhere is refused with the figures.
func TestMemory(t *testing.T) {
	leaves(t)
	for seed := range uint64(12) {
		const most = 16 * 8
		n := start(t, 3, func(o *cluster.Options) {
			o.Idle, o.Memory, o.Owner = true, most, seed%2 == 1
			if seed%3 > 0 {
				o.Copies.Records = 100 // and second copies count as well
			}
		})
		var both sync.WaitGroup
		var kept [2]exec.Kept
		var programs [2]*program
		for k := range programs { // two jobs at a time share the memory
			rng := rand.New(rand.NewPCG(seed, uint64(k)))
			p := newProgram(n.op, rng, 12, 0, 0)
			var values []versions.Shaped
			for i := range p.data {
				v := &number{}
				p.data[i].Value, p.data[i].Owner, p.want[i].n = v, int32(i), 0
				values = append(values, v)
			}
			var err error
			if kept[k], err = n.Keep(values); err != nil {
				t.Fatal(err)
			}
			programs[k] = p
			both.Go(func() {
				for range 3 {
					p.specs = nil
					p.add(n.op, rng, 150, 40)
					j := n.NewJob(context.Background())
					for i := range p.specs {
						if _, err := j.Submit(&p.specs[i]); err != nil {
							t.Errorf("seed %d: %v", seed, err)
							return
						}
					}
					if err := j.Wait(); err != nil {
						t.Errorf("seed %d: %v", seed, err)
						return
					}
				}
				for i := range p.data {
					got := &number{}
					if err := kept[k].Fetch(context.Background(), p.data[i].Value.(*number), got); err != nil || got.n != p.want[i].n {
						t.Errorf("seed %d: datum %d is %x, want %x, error %v", seed, i, got.n, p.want[i].n, err)
					}
				}
			})
		}
		both.Wait()
		for _, u := range n.Usage()[1:] {
			if u.Peak > most || u.Peak == 0 {
				t.Errorf("seed %d: %s has had %d bytes, its cap is %d", seed, u.Node, u.Peak, most)
			}
		}
		s := graph.Spec{Op: n.op, Params: &mix{}}
		for i := range 17 {
			s.Operands = append(s.Operands, graph.Operand{Datum: &programs[i/12].data[i%12], Mode: graph.In})
		}
		j := n.NewJob(context.Background())
		_, err := j.Submit(&s)
		var scarce *cluster.MemoryError
		if !errors.As(err, &scarce) || scarce.Need != 17*8 || scarce.Memory != most || !errors.Is(j.Wait(), err) {
			t.Errorf("a task of 17 data: %v", err)
		}
		kept[0].Release()
		kept[1].Release()
		n.Close()
	}
}

// tardy is a transport whose fetches take a while before and after.
type tardy struct {
	transport.Transport
	mu  sync.Mutex
	rng *rand.Rand
}

func (d *tardy) waits() {
	d.mu.Lock()
	wait := time.Duration(d.rng.IntN(100)) * time.Microsecond
	d.mu.Unlock()
	time.Sleep(wait)
}

func (d *tardy) Fetch(ctx context.Context, from string, r transport.Ref, wait time.Duration, into versions.Value) error {
	d.waits()
	defer d.waits()
	return d.Transport.Fetch(ctx, from, r, wait, into)
}

// TestMemoryResults: what tasks leave for the program may be more than all agents may keep: the
// driver gets it when there is little room, also if later tasks use it while it comes.
func TestMemoryResults(t *testing.T) {
	leaves(t)
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { memoryResults(t, seed) })
	}
}

func memoryResults(t *testing.T, seed uint64) {
	const most = 16 * 8
	data, tasks := 200, 400
	if seed%4 > 1 { // used again and again
		data, tasks = 40, 600
	}
	n := start(t, 2, func(o *cluster.Options) {
		if o.Idle, o.Memory = seed%2 == 0, most; o.Transport.Self() == "driver" {
			o.Transport = &tardy{Transport: o.Transport, rng: rand.New(rand.NewPCG(seed, 1))}
		}
	})
	rng := rand.New(rand.NewPCG(seed, 0))
	p := newProgram(n.op, rng, data, tasks, 20)
	j := n.NewJob(t.Context())
	for i := range p.specs {
		if _, err := j.Submit(&p.specs[i]); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if rng.IntN(10) == 0 {
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	p.check(t)
	for _, u := range n.Usage()[1:] {
		if u.Peak > most || u.Peak == 0 {
			t.Errorf("seed %d: %s has had %d bytes, its cap is %d", seed, u.Node, u.Peak, most)
		}
	}
	n.Close()
}

// TestMemoryLost: what is made again after the loss of an agent keeps to the caps of the others.
func TestMemoryLost(t *testing.T) {
	leaves(t)
	var said counts
	for seed := range uint64(12) {
		const most = 24 * 8
		n := start(t, 3, func(o *cluster.Options) {
			o.Idle, o.Memory, o.Owner, o.Log = true, most, seed%2 == 1, slog.New(&said)
			o.Copies.Off = true
		})
		rng := rand.New(rand.NewPCG(seed, 12))
		p := newProgram(n.op, rng, 12, 0, 0)
		var values []versions.Shaped
		for i := range p.data {
			v := &number{}
			p.data[i].Value, p.data[i].Owner, p.want[i].n = v, int32(i), 0
			values = append(values, v)
		}
		kept, err := n.Keep(values)
		if err != nil {
			t.Fatal(err)
		}
		for round := range 3 {
			p.specs = nil
			p.add(n.op, rng, 100, 40)
			if round == 1 {
				defer time.AfterFunc(time.Duration(rng.IntN(3000))*time.Microsecond, n.Kill[rng.IntN(3)]).Stop()
			}
			j := n.NewJob(context.Background())
			for i := range p.specs {
				if _, err := j.Submit(&p.specs[i]); err != nil {
					break // which Wait says again
				}
			}
			if err := j.Wait(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for i := range p.data {
			got := &number{}
			if err := kept.Fetch(context.Background(), p.data[i].Value.(*number), got); err != nil || got.n != p.want[i].n {
				t.Errorf("seed %d: datum %d is %x, want %x, error %v", seed, i, got.n, p.want[i].n, err)
			}
		}
		for _, u := range n.Usage()[1:] {
			if u.Peak > most {
				t.Errorf("seed %d: %s has had %d bytes, its cap is %d", seed, u.Node, u.Peak, most)
			}
		}
		kept.Release()
		n.Close()
	}
	if n := said.get("what was lost with a node is made again"); n < 1 {
		t.Errorf("in %d of 12 runs something was lost", n)
	}
}

// TestMemoryIdle: what a job has left on agents, and that does nothing now, makes room for another one:
// the driver gets it, and the job goes on with it. What stays on nodes between jobs does not; the error
// names it.
func TestMemoryIdle(t *testing.T) {
	leaves(t)
	for _, stays := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { memoryIdle(t, stays) })
	}
}

func memoryIdle(t *testing.T, stays bool) {
	const most = 10 * 8
	n := start(t, 1, func(o *cluster.Options) { o.Idle, o.Memory = true, most })
	defer n.Close()
	data, values := make([]graph.Datum, 11), make([]versions.Shaped, 5)
	for i := range data {
		v := &number{}
		if data[i] = (graph.Datum{Name: "B", Value: v, Bytes: 8}); i < len(values) {
			data[i].Name, values[i] = "A", v
		}
	}
	submit := func(j exec.Job, m *mix, uses []graph.Datum) {
		s := graph.Spec{Op: n.op, Params: m}
		for i := range uses {
			s.Operands = append(s.Operands, graph.Operand{Datum: &uses[i], Mode: graph.InOut})
		}
		if _, err := j.Submit(&s); err != nil {
			t.Fatal(err)
		}
	}
	if stays {
		kept, err := n.Keep(values)
		if err != nil {
			t.Fatal(err)
		}
		defer kept.Release()
	}
	first, second := n.NewJob(t.Context()), n.NewJob(t.Context())
	for i := range values {
		submit(first, &mix{Seed: uint64(i), Writes: 1}, data[i:i+1])
	}
	for first.Completed() < len(values) {
		time.Sleep(time.Millisecond)
	}
	submit(second, &mix{Seed: 7, Writes: 1<<6 - 1}, data[5:])
	err := second.Wait()
	if stays {
		var scarce *cluster.MemoryError
		if want := []cluster.Holding{{Data: "A", Bytes: 40}}; !errors.As(err, &scarce) || scarce.Kept != 40 || !slices.Equal(scarce.Others, want) {
			t.Errorf("error %v, want one that names %v", err, want)
		}
		if err := first.Wait(); err != nil {
			t.Error(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	submit(first, &mix{Seed: 3, Reads: 1, Writes: 1}, data[2:3])
	if err := first.Wait(); err != nil {
		t.Fatal(err)
	}
	want := make([]number, len(data))
	for i := range want {
		want[i].n = uint64(i)
		if i >= len(values) {
			want[i].n = 7 + uint64(i-len(values))
		}
	}
	(&mix{Seed: 3, Reads: 1, Writes: 1}).apply([]*number{&want[2]})
	for i := range data {
		if x := data[i].Value.(*number).n; x != want[i].n {
			t.Errorf("datum %d is %x, want %x", i, x, want[i].n)
		}
	}
	if u := n.Usage()[1]; u.Peak > most {
		t.Errorf("%s has had %d bytes, its cap is %d", u.Node, u.Peak, most)
	}
}

// TestMemoryAgain: what two of three agents had that are lost may be more than the third one may keep:
// what the program is to have goes to the driver as it is made again.
func TestMemoryAgain(t *testing.T) {
	leaves(t)
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { memoryAgain(t, seed) })
	}
}

func memoryAgain(t *testing.T, seed uint64) {
	const most = 9 * 8
	n := start(t, 3, func(o *cluster.Options) {
		o.Idle, o.Memory, o.Log = true, most, slog.New(slog.DiscardHandler)
	})
	rng := rand.New(rand.NewPCG(seed, 77))
	p := newProgram(n.op, rng, 36, 300, 200)
	for i := range 2 {
		defer time.AfterFunc(time.Duration(rng.IntN(8000))*time.Microsecond, n.Kill[i]).Stop()
	}
	p.run(t, n.NewJob(t.Context()), seed, rng)
	for _, u := range n.Usage()[1:] {
		if u.Peak > most {
			t.Errorf("seed %d: %s has had %d bytes, its cap is %d", seed, u.Node, u.Peak, most)
		}
	}
	n.Close()
}
