package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// TestAcceleratorLost loses one of the accelerators, or the only one, at random
// points. What has to be on it is lost or not: then the job fails and says so, or
// its results are right.
func TestAcceleratorLost(t *testing.T) {
	var good, bad atomic.Int32
	t.Run("jobs", func(t *testing.T) {
		for seed := range uint64(40) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				devices := 1 + int(seed%2)
				fakes, all := accelerators(t, devices, 3, seed)
				fakes[0].loseAt = 1 + int(seed)*2
				kinds := dispatch.Kinds()
				var r trace.Recorder
				rt := start(t, exec.Options{Workers: 2, Policy: kinds[int(seed)%len(kinds)], Window: 32, Accelerators: all, Selector: measuring(t), Recorder: &r})
				p := newProgram(seed, 8, roleOp(true, true))
				p.fails = seed%4 > 1
				job := rt.NewJob(context.Background())
				defer func() {
					if c := r.Counts(); c.Ended != c.Submitted || c.Running != 0 || c.Ready != 0 || c.Waiting != 0 {
						t.Errorf("at the end: %+v", c)
					}
				}()
				for range 200 {
					if p.submit(job) != nil {
						break
					}
				}
				err := job.Wait()
				if err == nil {
					good.Add(1)
					p.check(t)
				}
				if err == nil && fakes[0].Lost() != nil {
					// It goes on without.
					next := rt.NewJob(context.Background())
					for range 50 {
						if err := p.submit(next); err != nil {
							t.Fatal(err)
						}
					}
					if err := next.Wait(); err != nil {
						t.Error(err)
					}
					p.check(t)
				}
				if err == nil {
					return
				}
				bad.Add(1)
				var lost *lostValue
				if !errors.As(err, &lost) {
					t.Errorf("got %v", err)
				}
			})
		}
	})
	if good.Load() == 0 || bad.Load() == 0 {
		t.Errorf("%d jobs went well and %d lost values: the test wants both", good.Load(), bad.Load())
	}
}

// TestAcceleratorOnly: an op that only accelerators have is an error when they
// are lost, one that nobody has at once, and a task that does not fit runs on a
// host if it can.
func TestAcceleratorOnly(t *testing.T) {
	fakes, all := accelerators(t, 1, 2, 1)
	rt := start(t, exec.Options{Workers: 2, Accelerators: all})
	run := func(op *versions.Op, operands int) error {
		p := newProgram(1, operands, op)
		r := &role{id: 1, where: &p.where}
		s := graph.Spec{Op: op, Params: r}
		for i := range p.data {
			s.Operands = append(s.Operands, inout(&p.data[i]))
			r.sees, r.reads, r.writes = append(r.sees, 0), append(r.reads, true), append(r.writes, true)
			p.writer[i] = 1
		}
		job := rt.NewJob(context.Background())
		if _, err := job.Submit(&s); err != nil {
			return err
		}
		err := job.Wait()
		if err == nil {
			p.check(t)
		}
		return err
	}
	if err := run(roleOp(true, true), 3); err != nil {
		t.Errorf("a task that does not fit: %v", err)
	}
	if err := run(roleOp(false, true), 2); err != nil {
		t.Errorf("a task for the accelerator: %v", err)
	}
	var task *exec.TaskError
	err := run(roleOp(false, true), 3)
	if !errors.As(err, &task) || !strings.Contains(err.Error(), "3 cells do not fit") {
		t.Errorf("a task that fits nowhere: %v", err)
	}
	var none *versions.NoVersionError
	if err := run(&versions.Op{Name: "none"}, 1); !errors.As(err, &none) {
		t.Errorf("an op without versions: %v", err)
	}
	fakes[0].Lose()
	err = run(roleOp(false, true), 2)
	if !errors.As(err, &task) || !errors.Is(err, errLost) {
		t.Errorf("a task for a lost accelerator: %v", err)
	}
	if err := run(roleOp(true, true), 2); err != nil {
		t.Errorf("a task when the accelerator is lost: %v", err)
	}
}

// TestAcceleratorFailure: the failure of the smallest number is reported, whatever
// ran where, and a task that panics while it enqueues, or ends the goroutine,
// fails.
func TestAcceleratorFailure(t *testing.T) {
	_, all := accelerators(t, 1, 4, 3)
	rt := start(t, exec.Options{Workers: 1, Accelerators: all})
	for seed := range uint64(20) {
		p := newProgram(seed, 6, roleOp(true, true))
		job := rt.NewJob(context.Background())
		first := 0
		for n := 1; n <= 60; n++ {
			if n%17 == 0 {
				r := &role{id: n, where: &p.where, sees: []int{0}, reads: []bool{false}, writes: []bool{true}}
				r.fails.Store(1)
				if _, err := job.Submit(&graph.Spec{Op: p.ops[0], Params: r, Operands: []graph.Operand{out(&p.data[0])}}); err != nil {
					break
				}
				if first == 0 {
					first = n
				}
				p.last, p.writer[0] = n, n
			} else if p.submit(job) != nil {
				break
			}
		}
		var task *exec.TaskError
		if err := job.Wait(); !errors.As(err, &task) || task.Task != graph.TaskID(first) || !errors.Is(err, errRole) {
			t.Fatalf("seed %d: got %v, want the failure of task %d", seed, err, first)
		}
	}
	for name, run := range map[string]func(*versions.Call) error{
		"panic": func(*versions.Call) error { panic("on purpose") },
		"exit":  func(c *versions.Call) error { runtime.Goexit(); return nil },
	} {
		op := &versions.Op{Name: name, Versions: []versions.Version{{Name: "fake", Constraints: versions.Constraints{Kind: "fake"}, Run: run}}}
		job := rt.NewJob(context.Background())
		submit(t, job, graph.Spec{Op: op})
		var p *exec.PanicError
		if err := job.Wait(); !errors.As(err, &p) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestAcceleratorIgnored: under other failure policies the rest goes on.
func TestAcceleratorIgnored(t *testing.T) {
	_, all := accelerators(t, 1, 4, 3)
	rt := start(t, exec.Options{Workers: 1, Accelerators: all, Stories: 10})
	op := roleOp(false, true)
	var where [2]atomic.Int64
	var d, e graph.Datum
	d.Value, e.Value = &cell{}, &cell{}
	role1 := func(id, sees, fails int) *role {
		r := &role{id: id, where: &where, sees: []int{sees}, reads: []bool{true}, writes: []bool{true}}
		r.fails.Store(int32(fails))
		return r
	}
	job := rt.NewJob(context.Background())
	submit(t, job, graph.Spec{Op: op, Params: role1(1, 0, 1), Operands: []graph.Operand{inout(&d)}, Failure: &graph.Failure{Then: graph.Ignore}})
	submit(t, job, graph.Spec{Op: op, Params: role1(2, 1, 0), Operands: []graph.Operand{inout(&d)}})
	submit(t, job, graph.Spec{Op: op, Params: role1(3, 0, 1), Operands: []graph.Operand{inout(&e)}, Failure: &graph.Failure{Retries: 1}})
	submit(t, job, graph.Spec{Op: op, Params: role1(4, 3, 0), Operands: []graph.Operand{inout(&e)}})
	if err := job.Wait(); err != nil || job.Ignored() != 1 {
		t.Fatal(err, job.Ignored())
	}
	if d.Value.(*cell).n != 2 || e.Value.(*cell).n != 4 {
		t.Errorf("got %v and %v", d.Value, e.Value)
	}
	story, err := job.Story(3)
	if err != nil || !strings.Contains(story.String(), "on worker 1, version fake") || strings.Count(story.String(), "running") != 2 {
		t.Errorf("story:\n%v%v", story, err)
	}

	job = rt.NewJob(context.Background())
	submit(t, job, graph.Spec{Op: op, Params: role1(1, 2, 1), Operands: []graph.Operand{inout(&d)}, Failure: &graph.Failure{Then: graph.CancelSuccessors}})
	submit(t, job, graph.Spec{Op: op, Params: role1(2, 1, 0), Operands: []graph.Operand{inout(&d)}})
	submit(t, job, graph.Spec{Op: op, Params: role1(3, 4, 0), Operands: []graph.Operand{inout(&e)}})
	if err := job.Wait(); !errors.Is(err, errRole) || e.Value.(*cell).n != 3 {
		t.Errorf("got %v, and %v", err, e.Value)
	}
}

// TestAcceleratorTimeout: an attempt that takes too long on the accelerator has
// failed.
func TestAcceleratorTimeout(t *testing.T) {
	_, all := accelerators(t, 1, 4, 3)
	rt := start(t, exec.Options{Workers: 1, Accelerators: all})
	op := &versions.Op{Name: "slow", Versions: []versions.Version{{Name: "fake", Constraints: versions.Constraints{Kind: "fake"}, Run: func(c *versions.Call) error {
		c.Device.(*fakeQueue).Do(func([]*int) error { time.Sleep(20 * time.Millisecond); return nil })
		return nil
	}}}}
	job := rt.NewJob(context.Background())
	submit(t, job, graph.Spec{Op: op, Failure: &graph.Failure{Timeout: time.Millisecond}})
	var late *exec.TimeoutError
	if err := job.Wait(); !errors.As(err, &late) || late.Took < 20*time.Millisecond {
		t.Errorf("got %v", err)
	}
}

// TestAcceleratorCancelled ends the context, or the runtime, in the middle.
func TestAcceleratorCancelled(t *testing.T) {
	for seed := range uint64(16) {
		fakes, all := accelerators(t, 2, 4, seed)
		rt := start(t, exec.Options{Workers: 1, Accelerators: all, Policy: dispatch.EarliestFinish, Selector: measuring(t)})
		ctx, cancel := context.WithCancel(context.Background())
		p := newProgram(seed, 8, roleOp(true, true))
		job := rt.NewJob(ctx)
		rng := rand.New(rand.NewPCG(seed, 8))
		stop := rng.IntN(300)
		for n := range 400 {
			if n == stop {
				if seed%2 == 0 {
					cancel()
				} else if err := rt.Close(); err != nil {
					t.Error(err)
				}
			}
			if p.submit(job) != nil {
				break
			}
		}
		want := context.Canceled
		if seed%2 == 1 {
			want = exec.ErrClosed
		}
		if err := job.Wait(); !errors.Is(err, want) {
			t.Errorf("seed %d: got %v", seed, err)
		}
		for _, a := range fakes {
			a.empty(t)
		}
		for i := range p.data {
			if p.data[i].Value.(*cell).n == stale {
				t.Errorf("seed %d: the host has a stale value after the end", seed)
			}
		}
		cancel()
	}
}
