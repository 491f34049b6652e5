package exec_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// batched returns an op with a version for fakes, of which calls with the same
// number of operands go together. Every third batch cannot be begun.
func batched(name string) *versions.Op {
	var tries atomic.Int32
	return &versions.Op{Name: name, Versions: []versions.Version{{Name: "fake", Constraints: versions.Constraints{Kind: "fake"}, Run: onFake, Batch: &versions.Batch{
		Key: func(c *versions.Call) any { return len(c.Args) },
		Run: func(calls []*versions.Call) error {
			if tries.Add(1)%3 == 0 {
				return errors.New("no batch")
			}
			for _, c := range calls {
				if err := onFake(c); err != nil {
					return err
				}
			}
			return nil
		}}}}}
}

// TestAcceleratorBatch runs random programs, of which some tasks fail once, and
// on half of the accelerators everything is lost: tasks that go together see and
// leave what they would alone.
func TestAcceleratorBatch(t *testing.T) {
	for _, kind := range dispatch.Kinds() {
		for _, lose := range []bool{false, true} {
			for _, alone := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/lose=%v/alone=%v", kind, lose, alone), func(t *testing.T) {
					t.Parallel()
					fakes, all := accelerators(t, 2, 24, 3+uint64(kind))
					if lose {
						fakes[0].loseAt = 150
					}
					rt := start(t, exec.Options{Workers: 1, Policy: kind, Window: 128, Accelerators: all, Selector: measuring(t), Watchdog: watch(t), Alone: alone})
					p := newProgram(11, 24, batched("one"), batched("two"))
					p.fails = true
					job := rt.NewJob(context.Background())
					for range 800 {
						if p.submit(job) != nil {
							break
						}
					}
					var lost *lostValue
					if err := job.Wait(); err != nil && !(lose && errors.As(err, &lost)) {
						t.Fatal(err)
					} else if err == nil {
						p.check(t)
					}
					batches := 0
					for _, a := range fakes {
						a.mu.Lock()
						batches += a.batches
						a.mu.Unlock()
					}
					if (batches > 0) == alone {
						t.Errorf("%d batches", batches)
					}
				})
			}
		}
	}
}

// TestAcceleratorBatchPanics: a batch that panics, or ends the goroutine, fails
// its tasks and no others.
func TestAcceleratorBatchPanics(t *testing.T) {
	for name, f := range map[string]func(){"panic": func() { panic("on purpose") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			fakes, all := accelerators(t, 1, 24, 3)
			rt := start(t, exec.Options{Workers: 1, Accelerators: all, Watchdog: watch(t)})
			var began atomic.Int32
			add := func(c *versions.Call) error {
				c.Device.(*fakeQueue).Do(func(v []*int) error { *v[0]++; return nil })
				return nil
			}
			op := &versions.Op{Name: "op", Versions: []versions.Version{{Name: "fake", Constraints: versions.Constraints{Kind: "fake"},
				Run: add, Batch: &versions.Batch{
					Key: func(*versions.Call) any { return 0 },
					Run: func(calls []*versions.Call) error { began.Add(int32(len(calls))); f(); return nil },
				}}}}
			// The cells get to the accelerator by tasks that go alone.
			first := &versions.Op{Name: "first", Versions: []versions.Version{{Name: "fake", Constraints: versions.Constraints{Kind: "fake"}, Run: add}}}
			data := make([]graph.Datum, 24)
			for i := range data {
				data[i].Value = &cell{}
			}
			var job exec.Job
			for round := 0; began.Load() == 0; round++ {
				if round == 100 {
					t.Fatal("no batch was begun")
				}
				job = rt.NewJob(context.Background())
				for _, o := range []*versions.Op{first, op} {
					for i := range data {
						if _, err := job.Submit(&graph.Spec{Op: o, Operands: []graph.Operand{inout(&data[i])}}); err != nil {
							break
						}
					}
				}
				var panicked *exec.PanicError
				if err := job.Wait(); (err != nil) != (began.Load() > 0) || err != nil && !errors.As(err, &panicked) {
					t.Fatalf("got %v", err)
				}
			}
			next := rt.NewJob(context.Background())
			submit(t, next, graph.Spec{Op: first, Operands: []graph.Operand{inout(&graph.Datum{Value: &cell{}})}})
			if err := next.Wait(); err != nil {
				t.Error(err)
			}
			fakes[0].empty(t)
		})
	}
}
