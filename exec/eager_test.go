package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

func out(d *graph.Datum) graph.Operand   { return graph.Operand{Datum: d, Mode: graph.Out} }
func in(d *graph.Datum) graph.Operand    { return graph.Operand{Datum: d, Mode: graph.In} }
func inout(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.InOut} }

// TestFinished: while a task runs, those that wait only for what it has finished
// with run, readers and writers alike, and no others.
func TestFinished(t *testing.T) {
	rt := start(t, exec.Options{Workers: 3})
	job := rt.NewJob(context.Background())
	var a, b, c graph.Datum
	var ran [4]atomic.Bool
	mark := func(i int) *versions.Op {
		return opOf("mark", func(*versions.Call) error { ran[i].Store(true); return nil })
	}
	until := func(i int) {
		for !ran[i].Load() {
			runtime.Gosched()
		}
	}
	submit(t, job, graph.Spec{Op: opOf("first", func(c *versions.Call) error {
		time.Sleep(time.Millisecond)
		if ran[0].Load() || ran[1].Load() {
			return errors.New("a successor ran before anything was finished")
		}
		c.Finished(0)
		until(0)
		c.Finished(2) // read only: it may be overwritten now
		until(2)
		if ran[1].Load() || ran[3].Load() {
			return errors.New("a successor ran although its input is not finished")
		}
		return nil
	}), Operands: []graph.Operand{out(&a), out(&b), in(&c)}})
	submit(t, job, graph.Spec{Op: mark(0), Operands: []graph.Operand{in(&a)}})
	submit(t, job, graph.Spec{Op: mark(1), Operands: []graph.Operand{in(&b)}})
	submit(t, job, graph.Spec{Op: mark(2), Operands: []graph.Operand{out(&c)}})
	submit(t, job, graph.Spec{Op: mark(3), Operands: []graph.Operand{in(&a), in(&b)}})
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range ran {
		if !ran[i].Load() {
			t.Errorf("task %d did not run", i)
		}
	}
}

// TestFinishedMisuse: no such operand, and one twice, also by another name.
func TestFinishedMisuse(t *testing.T) {
	rt := start(t, exec.Options{Workers: 1})
	for _, c := range []struct {
		f    func(*versions.Call)
		want error
	}{
		{func(c *versions.Call) { c.Finished(2) }, graph.ErrOperand},
		{func(c *versions.Call) { c.Finished(-1) }, graph.ErrOperand},
		{func(c *versions.Call) { c.Finished(0); c.Finished(0) }, graph.ErrGiven},
		{func(c *versions.Call) { c.Finished(0); c.Finished(1) }, graph.ErrGiven},
	} {
		var a graph.Datum
		job := rt.NewJob(context.Background())
		submit(t, job, graph.Spec{Op: opOf("wrong", func(call *versions.Call) error { c.f(call); return nil }),
			Operands: []graph.Operand{in(&a), out(&a)}})
		if err := job.Wait(); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
	(&versions.Call{}).Finished(7) // outside of tasks
}

// TestTaintedDatumInAnotherJob: a job that needs what an earlier one has failed
// to make fails with that one's error.
func TestTaintedDatumInAnotherJob(t *testing.T) {
	rt := start(t, exec.Options{Workers: 1})
	bad := errors.New("bad")
	var a graph.Datum
	for _, op := range []*versions.Op{opOf("bad", func(*versions.Call) error { return bad }), empty("next")} {
		job := rt.NewJob(context.Background())
		submit(t, job, graph.Spec{Op: op, Operands: []graph.Operand{inout(&a)}})
		if err := job.Wait(); !errors.Is(err, bad) {
			t.Errorf("%s: %v", op.Name, err)
		}
	}
}

// TestFailureAfterFinished: what was handed on stays good, the rest is tainted,
// and there is no second attempt.
func TestFailureAfterFinished(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	job := rt.NewJob(context.Background())
	var a, b graph.Datum
	bad := errors.New("bad")
	var attempts, good, never atomic.Int32
	submit(t, job, graph.Spec{Op: opOf("half", func(c *versions.Call) error {
		attempts.Add(1)
		c.Finished(0)
		return bad
	}), Failure: &graph.Failure{Retries: 3, Then: graph.CancelSuccessors}, Operands: []graph.Operand{out(&a), out(&b)}})
	submit(t, job, graph.Spec{Op: opOf("good", func(*versions.Call) error { good.Add(1); return nil }), Operands: []graph.Operand{in(&a)}})
	submit(t, job, graph.Spec{Op: opOf("never", func(*versions.Call) error { never.Add(1); return nil }), Operands: []graph.Operand{in(&b)}})
	if err := job.WaitOn(&a); err != nil {
		t.Errorf("a is good, and has %v", err)
	}
	if err := job.Wait(); !errors.Is(err, bad) {
		t.Errorf("%v", err)
	}
	if attempts.Load() != 1 || good.Load() != 1 || never.Load() != 0 {
		t.Errorf("%d attempts, %d good, %d never", attempts.Load(), good.Load(), never.Load())
	}
}

// TestRandomFinished is TestRandomGraphs with tasks that finish with operands
// one by one, in any order, some of them in the parts of a gang.
func TestRandomFinished(t *testing.T) {
	const data, tasks = 10, 1200
	type role struct {
		id     int
		sees   []int
		writes []bool
		order  []int // in which operands are finished
		gang   bool
	}
	use := func(c *versions.Call, r *role, i int) error {
		a := c.Args[i].(*int)
		if *a != r.sees[i] {
			return fmt.Errorf("task %d operand %d holds the value of task %d, want %d", r.id, i, *a, r.sees[i])
		}
		if r.writes[i] {
			*a = r.id
		}
		c.Finished(i)
		if r.id%5 == 0 {
			runtime.Gosched()
		}
		return nil
	}
	task := &versions.Op{Name: "task", Versions: []versions.Version{{Name: "go", Constraints: versions.Constraints{Units: 2}, Run: func(c *versions.Call) error {
		r := c.Params.(*role)
		errs := make([]error, len(r.order))
		if r.gang {
			c.Parallel(len(r.order), func(part int, _ *versions.Workspace) { errs[part] = use(c, r, r.order[part]) })
		} else {
			for k, i := range r.order {
				errs[k] = use(c, r, i)
			}
		}
		return errors.Join(errs...)
	}}}}
	for _, kind := range dispatch.Kinds() {
		for _, workers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%v/%d", kind, workers), func(t *testing.T) {
				rt := start(t, exec.Options{Workers: workers, Policy: kind, Window: 64, Target: versions.Target{Units: 2}})
				rnd := rand.New(rand.NewPCG(uint64(workers), uint64(kind)))
				var d [data]graph.Datum
				var writer [data]int
				for i := range d {
					d[i].Value = new(int)
				}
				job := rt.NewJob(context.Background())
				for n := 1; n <= tasks; n++ {
					r := &role{id: n, gang: rnd.IntN(3) == 0}
					s := graph.Spec{Op: task, Params: r, Priority: int64(rnd.IntN(10))}
					for i, k := range rnd.Perm(data)[:rnd.IntN(7)] {
						mode := graph.Mode(1 + rnd.IntN(3))
						s.Operands = append(s.Operands, graph.Operand{Datum: &d[k], Mode: mode})
						r.sees = append(r.sees, writer[k])
						r.writes = append(r.writes, mode&graph.Out != 0)
						r.order = append(r.order, i)
						if mode&graph.Out != 0 {
							writer[k] = n
						}
					}
					rnd.Shuffle(len(r.order), func(i, k int) { r.order[i], r.order[k] = r.order[k], r.order[i] })
					submit(t, job, s)
				}
				if err := job.Wait(); err != nil {
					t.Fatal(err)
				}
				for k := range d {
					if got := *d[k].Value.(*int); got != writer[k] {
						t.Errorf("datum %d holds the value of task %d, want %d", k, got, writer[k])
					}
				}
			})
		}
	}
}

// TestStream: one task produces far more than may be in memory at once, block by
// block; each block is consumed and its memory used again while the task runs.
func TestStream(t *testing.T) {
	const blocks, size, room = 400, 1 << 18, 4
	for _, workers := range []int{1, 2} {
		rt := start(t, exec.Options{Workers: workers})
		job := rt.NewJob(context.Background())
		free := make(chan []byte, room)
		for range room {
			free <- make([]byte, size)
		}
		data := make([]graph.Datum, blocks)
		produce := graph.Spec{Op: opOf("produce", func(c *versions.Call) error {
			for i := range blocks {
				var b []byte
				exec.Await(c, func() { b = <-free })
				for k := range b {
					b[k] = byte(i)
				}
				*c.Args[i].(*[]byte) = b
				c.Finished(i)
			}
			return nil
		})}
		for i := range data {
			data[i].Value = new([]byte)
			produce.Operands = append(produce.Operands, out(&data[i]))
		}
		submit(t, job, produce)
		var sum atomic.Int64
		consume := opOf("consume", func(c *versions.Call) error {
			p := c.Args[0].(*[]byte)
			b := *p
			*p = nil
			if !slices.Equal(b[:3], []byte{b[0], b[0], b[0]}) || b[size-1] != b[0] {
				return errors.New("a block was overwritten before it was consumed")
			}
			sum.Add(int64(b[0]))
			free <- b
			return nil
		})
		for i := range data {
			submit(t, job, graph.Spec{Op: consume, Operands: []graph.Operand{inout(&data[i])}})
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		for i := range blocks {
			want += int64(byte(i))
		}
		if sum.Load() != want {
			t.Errorf("%d workers: sum %d, want %d", workers, sum.Load(), want)
		}
	}
}
