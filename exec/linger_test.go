package exec_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// One worker of two goes on looking for tasks while nobody submits any, and leaves
// the other processor alone. The next job finds it there, and Close ends it. None
// does while somebody may be about to submit more.
func TestLinger(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	nap := opOf("nap", func(*versions.Call) error { time.Sleep(time.Millisecond); return nil })
	for _, waits := range []bool{true, false} {
		o := exec.Options{Workers: 2}
		o.Linger(time.Hour)
		rt := start(t, o)
		job := rt.NewJob(context.Background())
		run := func() {
			for range 4 {
				submit(t, job, graph.Spec{Op: nap})
			}
		}
		if waits {
			// Not after the first job if it ends before somebody waits for it.
			eventually(t, "one worker goes on looking for tasks", func() bool {
				run()
				if err := job.Wait(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Millisecond)
				return rt.Looking() == 1
			})
		} else {
			run()
			eventually(t, "all tasks end", func() bool { return job.Completed() == 4 })
			eventually(t, "no worker looks for tasks", func() bool { return rt.Looking() == 0 })
			if err := job.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		within(t, func() { rt.Close() })
	}
}

// eventually waits until done reports true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
