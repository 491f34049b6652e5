package exec_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// TestShare: a call has as many units as its version makes use of, at most one for
// each worker, and no gang where there is one.
func TestShare(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt := start(t, exec.Options{Workers: workers, Float: true})
		var parts atomic.Int64
		op := &versions.Op{Name: "shared", Versions: []versions.Version{{
			Name: "some",
			Help: func(c *versions.Call) (int, bool) { return *c.Params.(*int), true },
			Run: func(c *versions.Call) error {
				units, want := 0, min(*c.Params.(*int), workers)
				if c.Gang != nil {
					units = c.Gang.Units()
				}
				if want <= 1 {
					want = 0
				}
				if units != want {
					return fmt.Errorf("%d units, want %d", units, want)
				}
				c.Parallel(7, func(int, *versions.Workspace) { parts.Add(1) })
				return nil
			},
		}}}
		job := rt.NewJob(context.Background())
		var data [3]graph.Datum
		for i := range 300 {
			n := i%7 - 1
			submit(t, job, graph.Spec{Op: op, Params: &n, Operands: []graph.Operand{inout(&data[i%3])}})
		}
		if err := job.Wait(); err != nil {
			t.Errorf("%d workers: %v", workers, err)
		}
		if n := parts.Load(); n != 7*300 {
			t.Errorf("%d workers: %d parts", workers, n)
		}
	}
}

// TestShareFails: what a version's Help does wrong is the failure of the task, and
// the worker goes on.
func TestShareFails(t *testing.T) {
	rt := start(t, exec.Options{Workers: 2, Float: true})
	for what, share := range map[string]func(*versions.Call) (int, bool){
		"panic":  func(*versions.Call) (int, bool) { panic("on purpose") },
		"goexit": func(*versions.Call) (int, bool) { runtime.Goexit(); return 0, true },
	} {
		op := &versions.Op{Name: "shared", Versions: []versions.Version{{Name: "some", Help: share, Run: func(*versions.Call) error { return nil }}}}
		for range 5 {
			job := rt.NewJob(context.Background())
			submit(t, job, graph.Spec{Op: op})
			var failed *exec.PanicError
			if err := job.Wait(); !errors.As(err, &failed) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}
