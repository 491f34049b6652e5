package exec_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
)

// TestTenMillionTasks sends ten million tasks through the default window and
// looks at the memory that the runtime takes from the system for them.
func TestTenMillionTasks(t *testing.T) {
	tasks := 10_000_000
	if testing.Short() {
		tasks = 200_000
	}
	rt := start(t, exec.Options{Workers: 2})
	job := rt.NewJob(context.Background())
	data := make([]graph.Datum, 1000)
	spec := graph.Spec{Op: empty("nothing"), Operands: make([]graph.Operand, 3)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range tasks {
		for k := range 3 {
			mode := graph.In
			if k == 2 {
				mode = graph.InOut
			}
			spec.Operands[k] = graph.Operand{Datum: &data[(n*(2*k+1)+k)%len(data)], Mode: mode}
		}
		if _, err := job.Submit(&spec); err != nil {
			t.Fatal(err)
		}
	}
	if err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := int64(after.Sys) - int64(before.Sys); got > 100<<20 {
		t.Errorf("%d tasks took %d MB from the system, want at most 100", tasks, got>>20)
	}
	if allocs := after.Mallocs - before.Mallocs; allocs > uint64(tasks/5) {
		t.Errorf("%d tasks took %d allocations", tasks, allocs)
	}
}
