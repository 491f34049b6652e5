package cluster_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/cluster/clustertest"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
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
func (v *number) Shape() []byte            { return []byte{8} }

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

// run submits the tasks, waits for all of them, and checks what they leave. With a third of the seeds
// it also waits for a datum in the middle.
func (p *program) run(t *testing.T, j exec.Job, seed uint64, rng *rand.Rand) {
	t.Helper()
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
}

func (p *program) check(t *testing.T) {
	t.Helper()
	for i := range p.data {
		if got := p.data[i].Value.(*number).n; got != p.want[i].n {
			t.Fatalf("datum %d is %x, want %x", i, got, p.want[i].n)
		}
	}
}
