package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// role is what a task of these tests sees and does.
type role struct {
	id     int
	sees   []int // by operand
	writes []bool
	reads  []bool
	fails  atomic.Int32 // attempts that fail
	where  *[2]atomic.Int64
}

var errRole = errors.New("a failure on purpose")

// step executes a role on values.
func (r *role) step(values []*int) error {
	for i, v := range values {
		if r.reads[i] && *v != r.sees[i] {
			return fmt.Errorf("task %d operand %d holds %d, want %d", r.id, i, *v, r.sees[i])
		}
	}
	for i, v := range values {
		if r.writes[i] {
			*v = r.id
		}
	}
	if r.fails.Add(-1) >= 0 {
		return errRole
	}
	return nil
}

// onHost and onFake are the versions that execute roles.
func onHost(c *versions.Call) error {
	r := c.Params.(*role)
	values := make([]*int, len(c.Args))
	for i, a := range c.Args {
		values[i] = &a.(*cell).n
	}
	r.where[0].Add(1)
	return r.step(values)
}

func onFake(c *versions.Call) error {
	r := c.Params.(*role)
	c.Device.(*fakeQueue).Do(func(values []*int) error {
		r.where[1].Add(1)
		return r.step(values)
	})
	return nil
}

func roleOp(host, device bool) *versions.Op {
	op := &versions.Op{Name: "role"}
	if host {
		op.Versions = append(op.Versions, versions.Version{Name: "go", Run: onHost})
	}
	if device {
		op.Versions = append(op.Versions, versions.Version{Name: "fake", Constraints: versions.Constraints{Kind: "fake"}, Run: onFake})
	}
	return op
}

// accelerators returns n fakes that are closed after the runtimes of the test.
func accelerators(t testing.TB, n, room int, seed uint64) (fakes []*fake, all []offload.Accelerator) {
	for k := range n {
		a := newFake(t, fmt.Sprintf("fake%d", k), room, seed+uint64(k))
		t.Cleanup(func() { a.Close() })
		fakes, all = append(fakes, a), append(all, a)
	}
	for _, a := range fakes {
		a.peers = fakes
	}
	return fakes, all
}

func measuring(t testing.TB) *versions.Selector {
	s, err := versions.NewSelector(versions.Config{Mode: versions.Static, Measure: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// program submits n random tasks on data of which cells says where they are, and
// records what the sequential program would do.
type program struct {
	rng    *rand.Rand
	data   []graph.Datum
	writer []int
	where  [2]atomic.Int64
	ops    []*versions.Op
	last   int
	fails  bool // now and then a task fails once and is retried
}

func newProgram(seed uint64, data int, ops ...*versions.Op) *program {
	p := &program{rng: rand.New(rand.NewPCG(seed, 1)), data: make([]graph.Datum, data), writer: make([]int, data), ops: ops}
	for i := range p.data {
		p.data[i] = graph.Datum{Value: &cell{}, Bytes: 8, Name: "d", Key: graph.Key{I: int32(i)}}
	}
	return p
}

func (p *program) submit(job exec.Job) error {
	p.last++
	r := &role{id: p.last, where: &p.where}
	s := graph.Spec{Op: p.ops[p.rng.IntN(len(p.ops))], Params: r, Priority: int64(p.rng.IntN(10))}
	for _, k := range p.rng.Perm(len(p.data))[:1+p.rng.IntN(3)] {
		mode := graph.Mode(1 + p.rng.IntN(3))
		s.Operands = append(s.Operands, graph.Operand{Datum: &p.data[k], Mode: mode})
		r.sees = append(r.sees, p.writer[k])
		r.reads = append(r.reads, mode&graph.In != 0)
		r.writes = append(r.writes, mode&graph.Out != 0)
		if mode&graph.Out != 0 {
			p.writer[k] = p.last
		}
	}
	if p.fails && p.rng.IntN(10) == 0 {
		r.fails.Store(int32(1 + p.rng.IntN(3)))
		s.Failure = &graph.Failure{Retries: 3}
	}
	_, err := job.Submit(&s)
	return err
}

// check compares the data with the sequential program's.
func (p *program) check(t testing.TB) {
	t.Helper()
	for i := range p.data {
		if got := p.data[i].Value.(*cell).n; got != p.writer[i] {
			t.Errorf("datum %d holds %d, want %d", i, got, p.writer[i])
		}
	}
}

// TestAccelerator runs random programs on hosts and accelerators under every
// policy. Every task checks that it sees what the sequential program would have
// it see; accelerators have hardly any room, and their copies and delays are
// random.
func TestAccelerator(t *testing.T) {
	for _, kind := range policies() {
		for _, devices := range []int{1, 2} {
			t.Run(fmt.Sprintf("%v/%d", kind, devices), func(t *testing.T) {
				t.Parallel()
				fakes, all := accelerators(t, devices, 4, uint64(kind))
				events := &trace.Recorder{}
				o := exec.Options{Workers: 2, Window: 64, Accelerators: all, Selector: measuring(t), Stories: 5,
					Recorder: events, Watchdog: &exec.Watchdog{After: 5 * time.Minute, Report: func(s exec.Stuck) { t.Error(s) }}}
				schedule(&o, kind)
				rt := start(t, o)
				if ws := rt.Workers(); len(ws) != 2+devices || ws[2].Accelerator != "fake0" || ws[2].ID != 2 {
					t.Errorf("workers %+v", ws)
				}
				p := newProgram(uint64(devices), 12, roleOp(true, true), roleOp(true, true), roleOp(true, false), roleOp(false, true))
				p.fails = true
				for range 3 {
					job := rt.NewJob(context.Background())
					for n := range 400 {
						if err := p.submit(job); err != nil {
							t.Fatal(err)
						}
						if n%50 == 0 {
							k := p.rng.IntN(len(p.data))
							if err := job.WaitOn(&p.data[k]); err != nil {
								t.Fatal(err)
							}
							if got := p.data[k].Value.(*cell).n; got != p.writer[k] {
								t.Fatalf("after WaitOn datum %d holds %d, want %d", k, got, p.writer[k])
							}
						}
					}
					if err := job.Wait(); err != nil {
						t.Fatal(err)
					}
					p.check(t)
					for _, a := range fakes {
						a.empty(t)
					}
				}
				s := events.Summary()
				attempts, copies := 0, 0
				for _, u := range s.Usage {
					attempts += u.Calls
				}
				for _, x := range s.Transfers {
					copies += x.Copies
				}
				moved := 0
				for _, a := range fakes {
					moved += a.moved
				}
				if attempts < p.last || copies != moved || len(s.Waited) == 0 {
					t.Errorf("%d attempts recorded, want at least %d; %d copies, want %d; waited %v", attempts, p.last, copies, moved, s.Waited)
				}
				if p.where[0].Load() == 0 || p.where[1].Load() == 0 {
					t.Errorf("%d calls on hosts and %d on accelerators", p.where[0].Load(), p.where[1].Load())
				}
			})
		}
	}
}
