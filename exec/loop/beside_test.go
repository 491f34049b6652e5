package loop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/versions"
)

// TestBeside: a loop that has all workers gives them to tasks that are more urgent, and has
// them back afterwards; one that is more urgent than what is ready goes on.
func TestBeside(t *testing.T) {
	for _, kind := range dispatch.Kinds() {
		for _, workers := range []int{1, 2} {
			rt := start(t, exec.Options{Workers: workers, Policy: kind})
			var urgent atomic.Bool
			started, ended := make(chan struct{}), make(chan error)
			var first atomic.Bool
			go func() {
				ended <- loop.For(context.Background(), rt, 1<<30, loop.Options{Plan: loop.Plan{Scheme: loop.SS}}, func(c loop.Chunk) error {
					if first.CompareAndSwap(false, true) {
						close(started)
					}
					if urgent.Load() {
						return errDone
					}
					return nil
				})
			}()
			<-started
			job := rt.NewJob(t.Context())
			for range 10 {
				s := graph.Spec{Op: op(func(*versions.Call) error { return nil }), Priority: 1}
				if _, err := job.Submit(&s); err != nil {
					t.Fatal(err)
				}
			}
			if err := job.Wait(); err != nil { // would be for ever
				t.Fatal(err)
			}
			urgent.Store(true)
			if err := <-ended; !errors.Is(err, errDone) {
				t.Errorf("%v: %v", kind, err)
			}
		}
	}
}

var errDone = errors.New("done")

func op(run func(*versions.Call) error) *versions.Op {
	return &versions.Op{Name: "task", Versions: []versions.Version{{Name: "go", Run: run}}}
}

// TestMoreUrgent: a loop does not give way to tasks that are less urgent.
func TestMoreUrgent(t *testing.T) {
	rt := start(t, exec.Options{Workers: 1})
	job := rt.NewJob(t.Context())
	var ran atomic.Bool
	err := loop.For(t.Context(), rt, 200, loop.Options{Plan: loop.Plan{Scheme: loop.SS}, Priority: 1}, func(c loop.Chunk) error {
		if c.Lo == 0 {
			if _, err := job.Submit(&graph.Spec{Op: op(func(*versions.Call) error { ran.Store(true); return nil })}); err != nil {
				return err
			}
		}
		for began := time.Now(); time.Since(began) < 25*time.Microsecond; { // longer than it may go on
		}
		if ran.Load() {
			return errors.New("a task that is less urgent came first")
		}
		return nil
	})
	if err := errors.Join(err, job.Wait()); err != nil {
		t.Error(err)
	}
}

// TestNestedFor: loops in bodies are executed by the workers that call them.
func TestNestedFor(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2})
	var sum atomic.Int64
	err := loop.For(t.Context(), rt, 50, loop.Options{Plan: loop.Plan{Scheme: loop.SS}}, func(c loop.Chunk) error {
		var s loop.Stats
		err := loop.For(c.Context(), rt, 10, loop.Options{Stats: &s}, func(in loop.Chunk) error {
			if in.Worker != c.Worker {
				return errors.New("another worker")
			}
			sum.Add(int64(in.Len()))
			return nil
		})
		if s.Items != 10 || s.Chunks() != 1 {
			t.Errorf("%+v", s)
		}
		return err
	})
	if err != nil || sum.Load() != 500 {
		t.Errorf("%v, %d items", err, sum.Load())
	}
	inner := errors.New("inside")
	err = loop.For(t.Context(), rt, 5, loop.Options{}, func(c loop.Chunk) error {
		return loop.For(c.Context(), rt, 5, loop.Options{}, func(loop.Chunk) error { return inner })
	})
	if !errors.Is(err, inner) {
		t.Error(err)
	}
}

// TestWithin: a task shares a loop with the other workers, and waits for it.
func TestWithin(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt := start(t, exec.Options{Workers: workers})
		for _, p := range plans() {
			const n = 500
			var hits [n]atomic.Int32
			job := rt.NewJob(t.Context())
			for range 2 { // two such tasks at once
				_, err := job.Submit(&graph.Spec{Op: op(func(call *versions.Call) error {
					var own loop.Stats
					err := loop.Within(call, n, loop.Options{Plan: p, Stats: &own}, func(c loop.Chunk) error {
						for i := c.Lo; i < c.Hi; i++ {
							hits[i].Add(1)
						}
						return nil
					})
					if own.Items != n {
						return fmt.Errorf("%+v", own)
					}
					return err
				})})
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := job.Wait(); err != nil {
				t.Fatalf("%v: %v", p, err)
			}
			for i := range hits {
				if hits[i].Load() != 2 {
					t.Fatalf("%v: item %d %d times", p, i, hits[i].Load())
				}
			}
		}
		// Its failure is the task's, and the smallest counts.
		job := rt.NewJob(t.Context())
		if _, err := job.Submit(&graph.Spec{Op: op(func(call *versions.Call) error {
			return loop.Within(call, 100, loop.Options{Plan: loop.Plan{Scheme: loop.SS}}, func(c loop.Chunk) error {
				if c.Lo >= 40 {
					return fmt.Errorf("item %d", c.Lo)
				}
				return nil
			})
		})}); err != nil {
			t.Fatal(err)
		}
		var ce *loop.ChunkError
		if err := job.Wait(); !errors.As(err, &ce) || ce.Lo != 40 {
			t.Error(err)
		}
	}
	if err := loop.Within(&versions.Call{}, 1, loop.Options{}, func(loop.Chunk) error { return nil }); !errors.Is(err, exec.ErrNoTask) {
		t.Error(err)
	}
}

// TestManyLoops: many loops at once on one runtime, some of which fail.
func TestManyLoops(t *testing.T) {
	rt := start(t, exec.Options{Workers: 3})
	var site loop.Site
	ended := make(chan error)
	const callers = 6
	for k := range callers {
		go func() {
			rnd := rand.New(rand.NewPCG(7, uint64(k)))
			all := plans()
			for range 100 {
				n, p, bad := rnd.IntN(3000), all[rnd.IntN(len(all))], rnd.IntN(4000)
				var items atomic.Int64
				opt := loop.Options{Plan: p, Priority: int64(rnd.IntN(3))}
				if p.Scheme == loop.Auto {
					opt.Site = &site
				}
				err := loop.For(context.Background(), rt, n, opt, func(c loop.Chunk) error {
					items.Add(int64(c.Len()))
					if c.Lo <= bad && bad < c.Hi {
						return errDone
					}
					return nil
				})
				if errors.Is(err, errDone) != (bad < n) || err == nil && items.Load() != int64(n) {
					ended <- fmt.Errorf("%v, %d items, one bad at %d: %v, %d executed", p, n, bad, err, items.Load())
					return
				}
			}
			ended <- nil
		}()
	}
	for range callers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
