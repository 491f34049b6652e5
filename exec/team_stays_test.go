package exec_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// gangOp returns an op with one version that asks for units.
func gangOp(units int, f func(*versions.Call) error) *versions.Op {
	return &versions.Op{Name: "gang", Versions: []versions.Version{{Name: "many", Constraints: versions.Constraints{Units: units}, Run: f}}}
}

// TestGangs runs tasks of several units, more of them at once than workers
// there are, mixed with tasks of one; every part of every phase must run once.
func TestGangs(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt := start(t, exec.Options{Workers: workers, Target: versions.Target{Units: 4}})
		var ran, singles atomic.Int64
		op := gangOp(4, func(c *versions.Call) error {
			if c.Gang == nil || c.Gang.Units() > 4 {
				return errors.New("no gang, or too large a one")
			}
			for phase := range 5 {
				var hits [17]atomic.Int32
				c.Parallel(len(hits), func(part int, w *versions.Workspace) {
					w.Bytes(64)[0] = byte(part)
					hits[part].Add(1)
					ran.Add(1)
				})
				for i := range hits {
					if hits[i].Load() != 1 {
						return errors.New("a part did not run once")
					}
				}
				if phase == 2 {
					c.Parallel(0, nil)
				}
			}
			return nil
		})
		single := opOf("single", func(*versions.Call) error { singles.Add(1); return nil })
		job := rt.NewJob(context.Background())
		for range 200 {
			submit(t, job, graph.Spec{Op: op})
			submit(t, job, graph.Spec{Op: single})
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		if ran.Load() != 200*5*17 || singles.Load() != 200 {
			t.Errorf("%d workers: %d parts and %d single tasks ran", workers, ran.Load(), singles.Load())
		}
	}
}

// TestGangGetsMembers checks that idle workers really join.
func TestGangGetsMembers(t *testing.T) {
	rt := start(t, exec.Options{Workers: 3, Target: versions.Target{Units: 3}})
	job := rt.NewJob(context.Background())
	op := gangOp(3, func(c *versions.Call) error {
		// The parts meet: each waits until three run at once.
		var together atomic.Int32
		c.Parallel(3, func(int, *versions.Workspace) {
			together.Add(1)
			for deadline := time.Now().Add(5 * time.Minute); together.Load() < 3 && time.Now().Before(deadline); {
				time.Sleep(50 * time.Microsecond)
			}
		})
		if together.Load() < 3 {
			return errors.New("the members did not come")
		}
		return nil
	})
	for range 20 { // one at a time, so that the others are idle
		submit(t, job, graph.Spec{Op: op})
		if err := job.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestGangPanics lets a part panic, exit its goroutine, or the leader fail.
func TestGangPanics(t *testing.T) {
	rt := start(t, exec.Options{Workers: 3, Target: versions.Target{Units: 3}})
	for name, f := range map[string]func(part int){
		"panic":  func(part int) { panic(part) },
		"goexit": func(part int) { runtime.Goexit() },
	} {
		for round := range 20 {
			job := rt.NewJob(context.Background())
			submit(t, job, graph.Spec{Op: gangOp(3, func(c *versions.Call) error {
				c.Parallel(8, func(part int, _ *versions.Workspace) {
					if part == round%8 {
						f(part)
					}
					time.Sleep(10 * time.Microsecond)
				})
				return nil
			})})
			var pe *exec.PanicError
			if err := job.Wait(); !errors.As(err, &pe) {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	job := rt.NewJob(context.Background())
	submit(t, job, graph.Spec{Op: empty("alive")})
	if err := job.Wait(); err != nil {
		t.Error(err)
	}
}
