package cluster_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/clustertest"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/faulty"
	"github.com/tessera-la/tessera/transport/reliable"
	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

// number is a value that tasks compute with.
type number struct{ n uint64 }

func (v *number) Bytes() int64             { return 8 }
func (v *number) Snapshot() versions.Value { s := *v; return &s }
func (v *number) Restore(s versions.Value) { *v = *s.(*number) }
func (v *number) Encode(w io.Writer) error { return binary.Write(w, binary.LittleEndian, v.n) }
func (v *number) Decode(r io.Reader) error { return binary.Read(r, binary.LittleEndian, &v.n) }

func (v *number) Shape() []byte { return []byte{8} }
func (v *number) Reshape(b []byte) error {
	if len(b) != 1 || b[0] != 8 {
		return errors.New("no number")
	}
	v.n = 0
	return nil
}

// mix is the parameter of op "mix".
type mix struct {
	Writes uint64 // a bit for each operand that is written
	Reads  uint64
	Seed   uint64
	Sleep  int64 // microseconds
	Fail   bool
	// Early has a bit for each operand with which the task finishes before its end, and
	// sleeps again.
	Early uint64
}

// fatal is the error of op "mix".
type fatal struct{ Seed uint64 }

func (e *fatal) Error() string { return fmt.Sprintf("mix %d fails", e.Seed) }

// apply is what op "mix" does: each operand that is written becomes a function of all
// that are read.
func (p *mix) apply(values []*number) {
	h := p.Seed
	for i, v := range values {
		if p.Reads>>i&1 != 0 {
			h = (h ^ v.n) * 0x9e3779b97f4a7c15
		}
	}
	for i, v := range values {
		if p.Writes>>i&1 != 0 {
			v.n = h + uint64(i)
		}
	}
}

func ops() []*versions.Op {
	return []*versions.Op{{Name: "mix", NewParams: func() any { return new(mix) }, Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		p := c.Params.(*mix)
		time.Sleep(time.Duration(p.Sleep) * time.Microsecond)
		if p.Fail {
			return &fatal{p.Seed}
		}
		var all []*number
		for _, a := range c.Args {
			all = append(all, a.(*number))
		}
		p.apply(all)
		for i := range c.Args {
			if p.Early>>i&1 != 0 {
				c.Finished(i)
				time.Sleep(time.Duration(p.Sleep) * time.Microsecond / 2)
			}
		}
		return nil
	}}}}}
}

// nodes is a driver and agents in this process.
type nodes struct {
	*clustertest.Cluster
	op *versions.Op
}

// start starts a driver and agents.
func start(t testing.TB, agents int, set func(*cluster.Options)) *nodes {
	t.Helper()
	return startOn(t, transport.NewNetwork().Node, agents, set)
}

// startOn is start with the nodes of a network.
func startOn(t testing.TB, node func(name string) (transport.Transport, error), agents int, set func(*cluster.Options)) *nodes {
	t.Helper()
	n := &nodes{}
	n.Cluster = clustertest.Start(t, node, agents, func(o *cluster.Options) {
		o.Ops, o.Values, o.Errors = ops(), []versions.Value{&number{}}, []error{&fatal{}}
		if set != nil {
			set(o)
		}
		if o.Transport.Self() == "driver" {
			n.op = o.Ops[0]
		}
	})
	return n
}

// leaves has the test fail if it leaves goroutines behind, when all else is cleaned up.
func leaves(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// program is a random program, and what it leaves.
type program struct {
	data  []graph.Datum
	want  []number
	specs []graph.Spec
}

func newProgram(op *versions.Op, rng *rand.Rand, data, tasks int, sleep int64) *program {
	p := &program{data: make([]graph.Datum, data), want: make([]number, data)}
	for i := range p.data {
		p.want[i].n = rng.Uint64()
		v := p.want[i]
		p.data[i].Value, p.data[i].Bytes = &v, 8
		if i%2 == 0 { // others have no key
			p.data[i].Key = graph.Key{Matrix: 1, I: int32(i)}
		}
	}
	p.add(op, rng, tasks, sleep)
	return p
}

// spreads has half of the data count as so large that they spread as a tree, and adds tasks that
// want the same ones at once.
func (p *program) spreads(op *versions.Op) *program {
	n := len(p.data)
	for i := range p.data {
		if p.data[i].Owner = int32(i); i%2 == 1 {
			p.data[i].Bytes = 1 << 20
		}
	}
	for round := 1; round < n; round += 4 {
		for i := range n {
			m, to := &mix{Seed: uint64(i), Reads: 3, Writes: 2}, (round+i)%n
			s := graph.Spec{Op: op, Params: m, Operands: []graph.Operand{{Datum: &p.data[round], Mode: graph.In}, {Datum: &p.data[to], Mode: graph.InOut}}}
			all := []*number{&p.want[round], &p.want[to]}
			if i == 0 {
				m.Reads, m.Writes, s.Operands, all = 1, 1, s.Operands[1:], all[1:]
			}
			m.apply(all)
			p.specs = append(p.specs, s)
		}
	}
	return p
}

// add adds tasks.
func (p *program) add(op *versions.Op, rng *rand.Rand, tasks int, sleep int64) {
	data := len(p.data)
	for range tasks {
		m := &mix{Seed: rng.Uint64(), Sleep: rng.Int64N(sleep + 1)}
		s := graph.Spec{Op: op, Params: m, Priority: rng.Int64N(3)}
		var all []*number
		for i, k := range rng.Perm(data)[:1+rng.IntN(min(4, data))] {
			mode := []graph.Mode{graph.In, graph.In, graph.Out, graph.InOut}[rng.IntN(4)]
			if mode&graph.In != 0 {
				m.Reads |= 1 << i
			}
			if mode&graph.Out != 0 {
				m.Writes |= 1 << i
			}
			s.Operands = append(s.Operands, graph.Operand{Datum: &p.data[k], Mode: mode})
			all = append(all, &p.want[k])
		}
		if rng.IntN(4) == 0 {
			m.Early = rng.Uint64()
		}
		m.apply(all)
		p.specs = append(p.specs, s)
	}
}

func (p *program) check(t *testing.T) {
	t.Helper()
	for i := range p.data {
		if got := p.data[i].Value.(*number).n; got != p.want[i].n {
			t.Fatalf("datum %d is %x, want %x", i, got, p.want[i].n)
		}
	}
}

// TestRandom: random programs leave what the sequential program does, on any number of
// nodes under every policy.
func TestRandom(t *testing.T) {
	leaves(t)
	for _, agents := range []int{0, 1, 2, 4} {
		for _, kind := range dispatch.Kinds() {
			t.Run(fmt.Sprintf("agents=%d/%v", agents, kind), func(t *testing.T) {
				n := start(t, agents, func(o *cluster.Options) { o.Policy, o.Window, o.Idle = kind, 40, kind == dispatch.LIFO })
				for seed := range uint64(6) {
					p := newProgram(n.op, rand.New(rand.NewPCG(seed, 1)), 1+int(seed)*3, 150, int64(seed%2)*50).spreads(n.op)
					j := n.NewJob(context.Background())
					for i := range p.specs {
						if _, err := j.Submit(&p.specs[i]); err != nil {
							t.Fatal(err)
						}
						if i%50 == 20 {
							if err := j.WaitOn(&p.data[0]); err != nil {
								t.Fatal(err)
							}
						}
					}
					if err := j.Wait(); err != nil {
						t.Fatal(err)
					}
					if j.Completed() != len(p.specs) {
						t.Errorf("%d of %d tasks have ended", j.Completed(), len(p.specs))
					}
					p.check(t)
				}
			})
		}
	}
}

// TestFailure: the failure of the task with the smallest number is the job's, by its own
// type, and says on which node it was.
func TestFailure(t *testing.T) {
	n := start(t, 3, func(o *cluster.Options) { o.Idle = true })
	for seed := range uint64(10) {
		p := newProgram(n.op, rand.New(rand.NewPCG(seed, 2)), 6, 60, 30)
		first := 10 + int(seed)
		for _, i := range []int{first, first + 3, first + 20} {
			m := *p.specs[i].Params.(*mix)
			m.Fail = true
			p.specs[i].Params = &m
		}
		j := n.NewJob(context.Background())
		for i := range p.specs {
			if _, err := j.Submit(&p.specs[i]); err != nil {
				break
			}
		}
		err := j.Wait()
		var f *fatal
		var e *exec.TaskError
		if !errors.As(err, &f) || !errors.As(err, &e) || e.Task != graph.TaskID(first+1) || f.Seed != p.specs[first].Params.(*mix).Seed {
			t.Fatalf("error %v, want that of task %d", err, first+1)
		}
		if e.Node == "" {
			t.Errorf("%v does not name a node", e)
		}
	}
}

// TestPolicies of failure: what is ignored is counted, what cancels successors lets
// others go on, and retries are the node's.
func TestPolicies(t *testing.T) {
	n := start(t, 2, nil)
	data := make([]graph.Datum, 3)
	for i := range data {
		data[i].Value = &number{uint64(i)}
	}
	submit := func(j exec.Job, k int, fail bool, f *graph.Failure) {
		s := graph.Spec{Op: n.op, Params: &mix{Reads: 1, Writes: 1, Seed: 7, Fail: fail}, Failure: f,
			Operands: []graph.Operand{{Datum: &data[k], Mode: graph.InOut}}}
		if _, err := j.Submit(&s); err != nil {
			t.Fatal(err)
		}
	}
	j := n.NewJob(context.Background())
	submit(j, 0, true, &graph.Failure{Then: graph.Ignore, Retries: 2})
	submit(j, 0, false, nil)
	submit(j, 1, true, &graph.Failure{Then: graph.CancelSuccessors})
	submit(j, 1, false, nil)
	submit(j, 2, false, nil)
	err := j.Wait()
	var e *exec.TaskError
	if !errors.As(err, &e) || e.Task != 3 || j.Ignored() != 1 || j.Completed() != 5 {
		t.Errorf("error %v, %d ignored, %d completed", err, j.Ignored(), j.Completed())
	}
}

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
		for i := range p.specs {
			if _, err := j.Submit(&p.specs[i]); err != nil {
				break // which Wait says again
			}
			if i == 99 && seed%3 == 0 {
				if err := j.WaitOn(&p.data[rng.IntN(len(p.data))]); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		}
		if err := j.Wait(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		p.check(t)
		n.Close()
	}
	if n := said.get("what was lost with a node is made again"); n < 1 {
		t.Errorf("in %d of 40 runs something was lost", n)
	}
}

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

// TestMemoryResults: what tasks leave for the program may be more than all agents may keep: the
// driver gets it when there is little room.
func TestMemoryResults(t *testing.T) {
	leaves(t)
	for seed := range uint64(6) {
		const most = 16 * 8
		n := start(t, 2, func(o *cluster.Options) { o.Idle, o.Memory = seed%2 == 0, most })
		p := newProgram(n.op, rand.New(rand.NewPCG(seed, 0)), 200, 400, 0)
		j := n.NewJob(t.Context())
		for i := range p.specs {
			if _, err := j.Submit(&p.specs[i]); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
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

// TestJoin: an agent that comes takes part in the job that is under way, under every policy,
// also when another one is lost.
func TestJoin(t *testing.T) {
	leaves(t)
	for seed := range uint64(2 * len(dispatch.Kinds())) {
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
				for deadline := time.Now().Add(10 * time.Second); len(n.Nodes()) < 3; {
					if time.Now().After(deadline) {
						t.Fatal("the second agent is not there")
					}
					time.Sleep(time.Millisecond)
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

// soak is how many random programs have faults: see make soak.
var soak = flag.Uint64("seeds", 1000, "seeds of TestFaults, unless -short is given")

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

// faultyNetwork returns the faults of a seed, and what connects nodes in spite of them.
func faultyNetwork(t *testing.T, seed uint64) (*faulty.Network, func(name string) (transport.Transport, error)) {
	network := transport.NewNetwork()
	faults, err := faulty.New(faulty.Options{
		Seed: seed, Loss: 0.02, Double: 0.02, Reorder: 0.05, Damage: 0.01, Delay: time.Millisecond,
		FetchLoss: 0.01, FetchDamage: 0.01, Patience: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return faults, func(name string) (transport.Transport, error) {
		below, err := network.Node(name)
		if err != nil {
			return nil, err
		}
		between, err := faults.Node(below)
		if err != nil {
			return nil, err
		}
		return reliable.New(between, reliable.Options{Timeout: 150 * time.Millisecond, Linger: -1})
	}
}

// withFaults runs the random program of a seed on nodes with the faults of that seed.
func withFaults(t *testing.T, seed uint64, said *counts) {
	defer time.AfterFunc(time.Hour, func() { panic(fmt.Sprintf("seed %d: nothing gets on", seed)) }).Stop()
	rng := rand.New(rand.NewPCG(seed, 6))
	faults, connect := faultyNetwork(t, seed)
	n := startOn(t, connect, 3+int(seed%4), func(o *cluster.Options) {
		o.Window, o.Idle, o.Owner, o.Log = 100, seed%2 == 0, seed%3 > 0, slog.New(said)
	})
	ctx, stop := context.WithCancel(context.Background())
	steps := faulty.Draw(faulty.Plan{Seed: seed, Nodes: []string{"driver", "agent0", "agent1", "agent2"}, Steps: 4,
		Every: 20 * time.Millisecond, Outage: time.Duration(1+rng.IntN(300)) * time.Millisecond, Mortal: []string{"agent1"}})
	var played sync.WaitGroup
	played.Go(func() { _ = faults.Play(ctx, steps) })
	p := newProgram(n.op, rng, 20, 200, 100).spreads(n.op)
	j := n.NewJob(context.Background())
	for i := range p.specs {
		if _, err := j.Submit(&p.specs[i]); err != nil {
			break // which Wait says again
		}
		if i == 99 && seed%3 == 0 {
			if err := j.WaitOn(&p.data[rng.IntN(len(p.data))]); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	p.check(t)
	stop()
	played.Wait()
	faults.Heal()
	n.Close()
}

// TestSlowAgent: an agent that is ten times as slow as others is known to be after some tasks. Those
// that it owns, and those that it has been given and not begun, go to others.
func TestSlowAgent(t *testing.T) {
	leaves(t)
	for _, policy := range []string{"owner", "eft", "locality"} {
		t.Run(policy, func(t *testing.T) {
			n := start(t, 3, func(o *cluster.Options) {
				switch o.Idle = true; policy {
				case "owner":
					o.Owner = true
				case "eft":
					o.Policy = dispatch.EarliestFinish
				}
				if o.Transport.Self() == "agent1" {
					run := o.Ops[0].Versions[0].Run
					o.Ops[0].Versions[0].Run = func(c *versions.Call) error {
						time.Sleep(9 * time.Duration(c.Params.(*mix).Sleep) * time.Microsecond)
						return run(c)
					}
				}
			})
			data, want := make([]graph.Datum, 240), make([]number, 240)
			for i := range data {
				data[i] = graph.Datum{Value: &number{}, Bytes: 8, Key: graph.Key{Matrix: 1, I: int32(i)}, Owner: int32(i % 3)}
			}
			var took [2]time.Duration
			for round := range took {
				began := time.Now()
				j := n.NewJob(context.Background())
				for i := range data {
					p := &mix{Seed: uint64(i), Reads: 1, Writes: 1, Sleep: 2000}
					p.apply([]*number{&want[i]})
					s := graph.Spec{Op: n.op, Params: p, Operands: []graph.Operand{{Datum: &data[i], Mode: graph.InOut}}}
					if _, err := j.Submit(&s); err != nil {
						t.Fatal(err)
					}
				}
				if err := j.Wait(); err != nil {
					t.Fatal(err)
				}
				took[round] = time.Since(began)
			}
			for i := range data {
				if got := data[i].Value.(*number).n; got != want[i].n {
					t.Fatalf("datum %d is %x, want %x", i, got, want[i].n)
				}
			}
			speeds := n.Speeds()
			slow := slices.Index(n.Nodes()[1:], "agent1")
			for i, s := range speeds {
				if i != slow && s < 3*speeds[slow] {
					t.Errorf("speeds are %.2f, want number %d much slower than others", speeds, slow)
				}
			}
			// Two workers of each of two agents take 2 ms for a task, and those of the third 20:
			// 240 tasks in 114 ms. Its own 80 would take it 800.
			t.Logf("%v, speeds %.2f", took, speeds)
			if took[1] > 500*time.Millisecond {
				t.Errorf("%v: the slow agent has held up the others", took)
			}
		})
	}
}

// TestBound: tasks of an op that is bound to the driver's process run there, under every policy,
// whether it is idle or not.
func TestBound(t *testing.T) {
	for _, kind := range dispatch.Kinds() {
		for _, idle := range []bool{false, true} {
			n := start(t, 2, func(o *cluster.Options) { o.Idle, o.Policy = idle, kind })
			here := &versions.Op{Name: "here", Bound: true, Versions: []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
				c.Args[0].(*number).n += uint64(*c.Params.(*secret).n)
				return nil
			}}}}
			data := make([]graph.Datum, 8)
			for i := range data {
				data[i].Value = &number{}
			}
			one := 1
			j := n.NewJob(context.Background())
			for i := range 100 {
				s := graph.Spec{Op: here, Params: &secret{n: &one}, Operands: []graph.Operand{{Datum: &data[i%len(data)], Mode: graph.InOut}}}
				if i/len(data)%2 == 1 {
					s.Op, s.Params = n.op, &mix{Reads: 1, Writes: 1}
				}
				if _, err := j.Submit(&s); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.Wait(); err != nil {
				t.Fatalf("%v, idle %t: %v", kind, idle, err)
			}
			n.Close()
		}
	}
}

// secret is a parameter that cannot be sent.
type secret struct{ n *int }

// TestCancel: a context that ends cancels what has not started.
func TestCancel(t *testing.T) {
	n := start(t, 2, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	p := newProgram(n.op, rand.New(rand.NewPCG(1, 4)), 4, 300, 2000)
	j := n.NewJob(ctx)
	why := errors.New("enough")
	for i := range p.specs {
		if i == 100 {
			cancel(why)
		}
		if _, err := j.Submit(&p.specs[i]); err != nil {
			break
		}
	}
	if err := j.Wait(); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
	n.Close()
	if _, err := n.NewJob(context.Background()).Submit(&p.specs[0]); !errors.Is(err, exec.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
