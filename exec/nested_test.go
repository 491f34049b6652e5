package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// fib is a task with children: *n becomes the n-th Fibonacci number. It waits
// for its children, or lets an addition wait for them.
func fib(wait bool) *versions.Op {
	add := opOf("add", func(c *versions.Call) error {
		*c.Args[2].(*int) = *c.Args[0].(*int) + *c.Args[1].(*int)
		return nil
	})
	op := &versions.Op{Name: "fib"}
	op.Versions = []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		n := c.Args[0].(*int)
		if *n < 2 {
			return nil
		}
		job, err := exec.Nested(c)
		if err != nil {
			return err
		}
		a, b := *n-1, *n-2
		var d [3]graph.Datum
		d[0].Value, d[1].Value, d[2].Value = &a, &b, n
		for i := range 2 {
			if _, err := job.Submit(&graph.Spec{Op: op, Operands: []graph.Operand{inout(&d[i])}}); err != nil {
				return err
			}
		}
		if wait {
			if err := job.Wait(); err != nil {
				return err
			}
			*n = a + b
			return nil
		}
		_, err = job.Submit(&graph.Spec{Op: add, Operands: []graph.Operand{in(&d[0]), in(&d[1]), out(&d[2])}})
		return err
	}}}
	return op
}

func TestNestedFib(t *testing.T) {
	for _, wait := range []bool{false, true} {
		for _, kind := range dispatch.Kinds() {
			for _, o := range []exec.Options{{Workers: 1}, {Workers: 2}, {Workers: 3, Window: 1}} {
				o.Policy = kind
				rt := start(t, o)
				job := rt.NewJob(context.Background())
				n := 11
				d := graph.Datum{Value: &n}
				got := 0
				submit(t, job, graph.Spec{Op: fib(wait), Operands: []graph.Operand{inout(&d)}})
				submit(t, job, graph.Spec{Op: opOf("look", func(c *versions.Call) error { got = *c.Args[0].(*int); return nil }),
					Operands: []graph.Operand{in(&d)}})
				if err := job.Wait(); err != nil || got != 89 {
					t.Errorf("wait %v, %v, %d workers: %d, %v", wait, kind, o.Workers, got, err)
				}
				rt.Close()
			}
		}
	}
}

// TestNestedWaitsEverywhere: every worker waits in a task, several deep, for
// children of its own.
func TestNestedWaitsEverywhere(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	job := rt.NewJob(context.Background())
	var ran atomic.Int32
	var op func(depth int) *versions.Op
	op = func(depth int) *versions.Op {
		return opOf("deep", func(c *versions.Call) error {
			ran.Add(1)
			if depth == 0 {
				return nil
			}
			children, err := exec.Nested(c)
			if err != nil {
				return err
			}
			var d graph.Datum
			for range 2 {
				if _, err := children.Submit(&graph.Spec{Op: op(depth - 1), Operands: []graph.Operand{inout(&d)}}); err != nil {
					return err
				}
				if err := children.WaitOn(&d); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for range 8 {
		submit(t, job, graph.Spec{Op: op(4)})
	}
	if err := job.Wait(); err != nil || ran.Load() != 8*31 {
		t.Errorf("%d tasks ran, %v", ran.Load(), err)
	}
}

// TestNestedFailures: an error, a panic, a Goexit or a time-out of a child, of
// the parent while children run, and of a grandchild are the job's error, and
// nobody runs any more when Wait returns.
func TestNestedFailures(t *testing.T) {
	bad := errors.New("bad")
	var running atomic.Int32
	child := func(f func() error) *versions.Op {
		return opOf("child", func(*versions.Call) error {
			running.Add(1)
			defer running.Add(-1)
			return f()
		})
	}
	nap := func() error { time.Sleep(time.Millisecond); return nil }
	parent := func(after func() error, children ...*versions.Op) *versions.Op {
		return opOf("parent", func(c *versions.Call) error {
			job, err := exec.Nested(c)
			if err != nil {
				return err
			}
			for _, op := range children {
				if _, err := job.Submit(&graph.Spec{Op: op}); err != nil {
					return err
				}
			}
			return after()
		})
	}
	ok := func() error { return nil }
	for name, c := range map[string]struct {
		op   *versions.Op
		want func(error) bool
	}{
		"child":         {parent(ok, child(nap), child(func() error { return bad }), child(nap)), func(err error) bool { return errors.Is(err, bad) }},
		"child panics":  {parent(ok, child(nap), child(func() error { panic(bad) })), func(err error) bool { return errors.Is(err, bad) }},
		"child exits":   {parent(ok, child(func() error { runtime.Goexit(); return nil }), child(nap)), func(err error) bool { var p *exec.PanicError; return errors.As(err, &p) }},
		"parent":        {parent(func() error { return bad }, child(nap), child(nap), child(nap)), func(err error) bool { return errors.Is(err, bad) }},
		"parent panics": {parent(func() error { panic(bad) }, child(nap), child(nap)), func(err error) bool { return errors.Is(err, bad) }},
		"parent exits":  {parent(func() error { runtime.Goexit(); return nil }, child(nap), child(nap)), func(err error) bool { var p *exec.PanicError; return errors.As(err, &p) }},
		"grandchild":    {parent(ok, parent(ok, child(nap), child(func() error { return bad })), child(nap)), func(err error) bool { return errors.Is(err, bad) }},
		"all well":      {parent(ok, child(nap), parent(ok, child(nap))), func(err error) bool { return err == nil }},
		"nobody":        {parent(ok), func(err error) bool { return err == nil }},
	} {
		for _, workers := range []int{1, 2} {
			for _, limit := range []time.Duration{0, time.Hour} {
				rt := start(t, exec.Options{Workers: workers})
				job := rt.NewJob(context.Background())
				submit(t, job, graph.Spec{Op: c.op, Failure: &graph.Failure{Timeout: limit}})
				if err := job.Wait(); !c.want(err) {
					t.Errorf("%s, %d workers, limit %v: %v", name, workers, limit, err)
				}
				if n := running.Load(); n != 0 {
					t.Errorf("%s, %d workers: %d children run at the end", name, workers, n)
				}
				rt.Close()
			}
		}
	}
}

// TestNestedRetry: a task whose child fails once is tried again.
func TestNestedRetry(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	job := rt.NewJob(context.Background())
	var attempts atomic.Int32
	child := opOf("child", func(*versions.Call) error {
		if attempts.Add(1) < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	submit(t, job, graph.Spec{Failure: &graph.Failure{Retries: 5}, Op: opOf("parent", func(c *versions.Call) error {
		children, err := exec.Nested(c)
		if err != nil {
			return err
		}
		_, err = children.Submit(&graph.Spec{Op: child})
		return err
	})})
	if err := job.Wait(); err != nil || attempts.Load() != 3 {
		t.Errorf("%d attempts, %v", attempts.Load(), err)
	}
}

// TestNestedCancel ends the context, or closes the runtime, in the middle of a
// deep recursion.
func TestNestedCancel(t *testing.T) {
	for _, wait := range []bool{false, true} {
		for _, closing := range []bool{false, true} {
			rt, err := exec.NewLocal(exec.Options{Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			why := errors.New("enough")
			ctx, cancel := context.WithCancelCause(context.Background())
			job := rt.NewJob(ctx)
			n := 24
			d := graph.Datum{Value: &n}
			submit(t, job, graph.Spec{Op: fib(wait), Operands: []graph.Operand{inout(&d)}})
			time.Sleep(3 * time.Millisecond)
			want := why
			if closing {
				want = exec.ErrClosed
				rt.Close()
			} else {
				cancel(why)
			}
			if err := job.Wait(); !errors.Is(err, want) {
				t.Errorf("wait %v, closing %v: %v", wait, closing, err)
			}
			rt.Close()
			cancel(nil)
		}
	}
}

// TestHand: an operand of the parent is handed on when a child has made it,
// while other children still run.
func TestHand(t *testing.T) {
	for _, workers := range []int{1, 2} {
		rt := start(t, exec.Options{Workers: workers})
		job := rt.NewJob(context.Background())
		var a, b graph.Datum
		used := make(chan bool)
		made := false
		submit(t, job, graph.Spec{Operands: []graph.Operand{out(&a), out(&b)}, Op: opOf("parent", func(c *versions.Call) error {
			children, err := exec.Nested(c)
			if err != nil {
				return err
			}
			var x, y graph.Datum
			children.Submit(&graph.Spec{Op: opOf("make", func(*versions.Call) error { made = true; return nil }), Operands: []graph.Operand{out(&x)}})
			children.Hand(&x, 0)
			// Ends only when the successor of operand 0 has run.
			children.Submit(&graph.Spec{Operands: []graph.Operand{out(&y)}, Op: opOf("last", func(c *versions.Call) error {
				exec.Await(c, func() { <-used })
				return nil
			})})
			return nil
		})})
		submit(t, job, graph.Spec{Operands: []graph.Operand{in(&a)}, Op: opOf("use", func(*versions.Call) error {
			if !made {
				return errors.New("handed on before it was made")
			}
			close(used)
			return nil
		})})
		if err := job.Wait(); err != nil {
			t.Errorf("%d workers: %v", workers, err)
		}
	}
}

// TestHandMisuse: an operand that there is none of, or that is handed on twice,
// fails the parent.
func TestHandMisuse(t *testing.T) {
	make := empty("make")
	for name, misuse := range map[string]struct {
		what func(c *versions.Call, children exec.Children, d *graph.Datum)
		want error
	}{
		"no such operand": {func(_ *versions.Call, children exec.Children, d *graph.Datum) { children.Hand(d, 1) }, graph.ErrOperand},
		"twice": {func(_ *versions.Call, children exec.Children, d *graph.Datum) {
			children.Hand(d, 0)
			children.Hand(d, 0)
		}, graph.ErrGiven},
		"finished before": {func(c *versions.Call, children exec.Children, d *graph.Datum) { c.Finished(0); children.Hand(d, 0) }, graph.ErrGiven},
	} {
		for _, wait := range []bool{false, true} {
			rt := start(t, exec.Options{Workers: 2})
			job := rt.NewJob(context.Background())
			var a, x graph.Datum
			submit(t, job, graph.Spec{Operands: []graph.Operand{out(&a)}, Op: opOf("parent", func(c *versions.Call) error {
				children, err := exec.Nested(c)
				if err != nil {
					return err
				}
				children.Submit(&graph.Spec{Op: make, Operands: []graph.Operand{out(&x)}})
				if wait {
					children.WaitOn(&x)
				}
				misuse.what(c, children, &x)
				return nil
			})})
			if err := job.Wait(); !errors.Is(err, misuse.want) {
				t.Errorf("%s, wait %v: %v", name, wait, err)
			}
		}
	}
}

// TestRandomNested runs random programs whose tasks split themselves into
// programs of children on parts of their operand, down to single numbers, and
// compares with the sequential program.
func TestRandomNested(t *testing.T) {
	type step struct{ mul, add, lo, hi, depth int }
	apply := func(x []int, s step) {
		for i := s.lo; i < s.hi; i++ {
			x[i] = (x[i]*s.mul + s.add + i) % 1000003
		}
	}
	op := &versions.Op{Name: "step"}
	op.Versions = []versions.Version{{Name: "go", Run: func(c *versions.Call) error {
		s, x := c.Params.(*step), c.Args[0].([]int)
		if s.hi-s.lo < 4 || s.depth == 0 {
			apply(x, *s)
			return nil
		}
		children, err := exec.Nested(c)
		if err != nil {
			return err
		}
		parts := make([]graph.Datum, 3)
		for k := range parts {
			n := s.hi - s.lo
			child := &step{s.mul, s.add, s.lo + n*k/3, s.lo + n*(k+1)/3, s.depth - 1}
			parts[k].Value = x
			if _, err := children.Submit(&graph.Spec{Op: op, Params: child, Operands: []graph.Operand{inout(&parts[k])}}); err != nil {
				return err
			}
			if (s.add+k)%4 == 0 {
				if err := children.WaitOn(&parts[k]); err != nil {
					return err
				}
			}
		}
		return nil
	}}}
	for _, kind := range dispatch.Kinds() {
		rnd := rand.New(rand.NewPCG(5, uint64(kind)))
		rt := start(t, exec.Options{Workers: 2, Policy: kind, Window: 16})
		job := rt.NewJob(context.Background())
		const tiles, size = 5, 40
		var d [tiles]graph.Datum
		want := make([][]int, tiles)
		for k := range d {
			d[k].Value, want[k] = make([]int, size), make([]int, size)
		}
		for range 200 {
			k := rnd.IntN(tiles)
			s := &step{1 + rnd.IntN(9), rnd.IntN(100), 0, size, rnd.IntN(3)}
			apply(want[k], *s)
			submit(t, job, graph.Spec{Op: op, Params: s, Operands: []graph.Operand{inout(&d[k])}})
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		for k := range d {
			if got := fmt.Sprint(d[k].Value); got != fmt.Sprint(want[k]) {
				t.Errorf("%v: tile %d is %s, want %v", kind, k, got, want[k])
			}
		}
	}
}

func TestNestedOutsideOfTasks(t *testing.T) {
	if _, err := exec.Nested(&versions.Call{}); !errors.Is(err, exec.ErrNoTask) {
		t.Errorf("%v", err)
	}
	called := false
	exec.Await(&versions.Call{}, func() { called = true })
	if !called {
		t.Error("Await did not call")
	}
}

// TestNestedRenamed: what children write into new memory comes to the parent's datum,
// whether the parent waits for them, hands the operand on, or leaves the end to them,
// and whether its own operand is renamed or not.
func TestNestedRenamed(t *testing.T) {
	for k := range 6 {
		wait, hand, renamed := k%3 == 1, k%3 == 2, k >= 3
		rt := start(t, exec.Options{Workers: 2})
		job := rt.NewJob(context.Background())
		d := graph.Datum{Value: &cell{n: 1}}
		if renamed {
			d.SetRenaming(func() any { return &cell{n: 1} })
		}
		read := make(chan bool)
		submit(t, job, graph.Spec{Operands: []graph.Operand{out(&d)}, Op: opOf("parent", func(c *versions.Call) error {
			children, err := exec.Nested(c)
			if err != nil {
				return err
			}
			x := graph.Datum{Value: c.Args[0]}
			x.SetRenaming(func() any { return &cell{} })
			children.Submit(&graph.Spec{Operands: []graph.Operand{in(&x)}, Op: opOf("read", func(c *versions.Call) error {
				<-read // the task that comes next does not wait for this one
				if n := c.Args[0].(*cell).n; n != 1 {
					return fmt.Errorf("the first reader sees %d, want 1", n)
				}
				return nil
			})})
			for n := 2; n <= 4; n++ {
				children.Submit(&graph.Spec{Operands: []graph.Operand{out(&x)}, Op: opOf("write", func(c *versions.Call) error {
					if c.Args[0].(*cell).n = n; n == 4 {
						close(read)
					}
					return nil
				})})
			}
			if hand {
				children.Hand(&x, 0)
			}
			if !wait {
				return nil
			}
			if err := children.Wait(); err != nil || c.Args[0].(*cell).n != 4 || x.Latest() != c.Args[0] || children.Copies().Live != 0 {
				return fmt.Errorf("after Wait: %v, %v, %+v", c.Args[0], err, children.Copies())
			}
			return nil
		})})
		submit(t, job, graph.Spec{Operands: []graph.Operand{in(&d)}, Op: opOf("look", func(c *versions.Call) error {
			if n := c.Args[0].(*cell).n; n != 4 {
				return fmt.Errorf("the parent's datum is %d, want 4", n)
			}
			return nil
		})})
		if err := job.Wait(); err != nil {
			t.Errorf("wait %v, hand %v, renamed %v: %v", wait, hand, renamed, err)
		}
	}
}
