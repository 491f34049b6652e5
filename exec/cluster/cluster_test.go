package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

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

// TestSlowAgent: an agent that is ten times as slow as others is known to be after some tasks. Those
// that it owns, and those that it has been given and not begun, go to others.
func TestSlowAgent(t *testing.T) {
	leaves(t)
	for _, policy := range []string{"owner", "eft", "locality"} {
		t.Run(policy, func(t *testing.T) { // in virtual time
			synctest.Test(t, func(t *testing.T) { slowAgent(t, policy) })
		})
	}
}

func slowAgent(t *testing.T, policy string) {
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
	if took[1] > 200*time.Millisecond {
		t.Errorf("%v: the slow agent has held up the others", took)
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

// TestCancelIgnored: what a context that ends cancels on the driver itself ends with the context's
// cause, also if a task has failed before of which the policy is that this does not matter.
func TestCancelIgnored(t *testing.T) {
	leaves(t)
	n := start(t, 0, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	j := n.NewJob(ctx)
	data := make([]graph.Datum, 20)
	submit := func(i int, m *mix, f *graph.Failure) {
		data[i].Value = &number{}
		if _, err := j.Submit(&graph.Spec{Op: n.op, Params: m, Failure: f, Operands: []graph.Operand{{Datum: &data[i], Mode: graph.InOut}}}); err != nil {
			t.Fatal(err)
		}
	}
	submit(0, &mix{Fail: true}, &graph.Failure{Then: graph.Ignore})
	if err := j.WaitOn(&data[0]); err != nil || j.Ignored() != 1 {
		t.Fatalf("error %v, %d ignored", err, j.Ignored())
	}
	for i := 1; i < len(data); i++ { // two run, and some are with the runtime
		submit(i, &mix{Sleep: 20_000}, nil)
	}
	why := errors.New("enough")
	cancel(why)
	if err := j.Wait(); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
}

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
