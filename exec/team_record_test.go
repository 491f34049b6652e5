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
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// TestGangShares: what members of a gang do is recorded on their rows, as a share
// in the leader's task, once for each call of Do, before the job's Wait returns;
// also if a part panics or exits.
func TestGangShares(t *testing.T) {
	const workers, phases = 3, 4
	for _, end := range []string{"returns", "panics", "exits"} {
		var r trace.Recorder
		rt := start(t, exec.Options{Workers: workers, Target: versions.Target{Units: workers}, Recorder: &r})
		var d graph.Datum
		d.Name, d.I = "A", 7
		op := gangOp(workers, func(c *versions.Call) error {
			for phase := range phases {
				// The parts meet: each waits until all run at once.
				var together atomic.Int32
				c.Parallel(workers, func(int, *versions.Workspace) {
					last := together.Add(1) == workers
					for deadline := time.Now().Add(5 * time.Minute); together.Load() < workers && time.Now().Before(deadline); {
						runtime.Gosched()
					}
					switch {
					case phase < phases-1 || !last:
					case end == "panics":
						panic(end)
					case end == "exits":
						runtime.Goexit()
					}
				})
				if together.Load() < workers {
					return errors.New("the members did not come")
				}
			}
			return nil
		})
		job := rt.NewJob(context.Background())
		id, err := job.Submit(&graph.Spec{Op: op, Operands: []graph.Operand{out(&d)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := job.Wait(); (err == nil) != (end == "returns") {
			t.Fatalf("%s: %v", end, err)
		}
		rec := r.Recording()
		if len(rec.Shares) != (workers-1)*phases {
			t.Fatalf("%s: %d shares, want %d", end, len(rec.Shares), (workers-1)*phases)
		}
		// An attempt that exits its goroutine has no event.
		attempt := trace.Event{Task: uint64(id), Op: "gang", Version: "many", Worker: -1}
		if len(rec.Events) == 1 {
			attempt = rec.Events[0]
		} else if end == "returns" {
			t.Fatalf("%d events", len(rec.Events))
		}
		for _, s := range rec.Shares {
			if s.Worker == attempt.Worker || s.Task != attempt.Task || s.Op != "gang" || s.Version != "many" || s.Datum != "A" || s.I != 7 {
				t.Errorf("%s: %+v in %+v", end, s, attempt)
			}
			if s.Start < attempt.Start || s.End < s.Start || s.End > r.Now() {
				t.Errorf("%s: from %v to %v in an attempt that began at %v", end, s.Start, s.End, attempt.Start)
			}
		}
		if c := r.Counts(); c.Submitted != 1 || c.Ended != 1 || c.Running != 0 {
			t.Errorf("%s: %+v", end, c)
		}
	}
}
