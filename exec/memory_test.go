package exec_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// TestMemory: tasks that run at once never need more memory than there is, whether
// their version says what they need, for all calls or for one, or they do themselves;
// also if they fail, are tried again, panic, end their goroutine, or wait for others.
func TestMemory(t *testing.T) {
	const have = 1000
	for _, kind := range policies() {
		var used, most atomic.Int64
		var ended atomic.Int32
		take := func(n int64) func() {
			now := used.Add(n)
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			return func() { used.Add(-n) }
		}
		run := func(c *versions.Call) error {
			n := *c.Params.(*int64)
			defer take(n)()
			runtime.Gosched()
			switch i := ended.Add(1); {
			case i%11 == 0:
				return errors.New("on purpose")
			case i%13 == 0:
				panic("on purpose")
			case i%17 == 0:
				runtime.Goexit()
			}
			return nil
		}
		byVersion := &versions.Op{Name: "version", Versions: []versions.Version{{Name: "v", Constraints: versions.Constraints{Memory: 750}, Run: run}}}
		byCall := &versions.Op{Name: "call", Versions: []versions.Version{{Name: "v", Memory: func(c *versions.Call) int64 { return *c.Params.(*int64) }, Run: run}}}
		byTask := opOf("task", run)
		lends := opOf("lends", func(c *versions.Call) error {
			take(600)() // others may have it while this one waits
			exec.Await(c, runtime.Gosched)
			defer take(600)()
			return nil
		})
		o := exec.Options{Resources: []exec.Resource{{Workers: 4, Target: versions.Target{Memory: have}}}, Watchdog: watch(t)}
		schedule(&o, kind)
		rt := start(t, o)
		job := rt.NewJob(context.Background())
		again := &graph.Failure{Retries: 3, Then: graph.Ignore}
		big, small, none := int64(750), int64(200), int64(0)
		for i := range 100 {
			submit(t, job, graph.Spec{Op: byVersion, Params: &big, Failure: again})
			submit(t, job, graph.Spec{Op: byCall, Params: []*int64{&big, &small}[i%2], Failure: again})
			submit(t, job, graph.Spec{Op: byTask, Params: &small, Constraints: &versions.Constraints{Memory: 200}, Failure: again})
			submit(t, job, graph.Spec{Op: lends, Constraints: &versions.Constraints{Memory: 600}})
			submit(t, job, graph.Spec{Op: byTask, Params: &none, Failure: again})
		}
		if err := job.Wait(); err != nil {
			t.Fatalf("%v: %v", kind, err)
		}
		if most.Load() > have || used.Load() != 0 {
			t.Errorf("%v: up to %d bytes of %d at once, %d left", kind, most.Load(), have, used.Load())
		}
		huge := int64(1001)
		submit(t, job, graph.Spec{Op: byCall, Params: &huge})
		var short *exec.MemoryError
		if err := job.Wait(); !errors.As(err, &short) || !strings.Contains(err.Error(), "needs 1001 bytes of memory while it runs, and its workers have 1000") {
			t.Errorf("%v: a task that never fits: %v", kind, err)
		}
	}
}
