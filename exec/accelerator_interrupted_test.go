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

// TestAcceleratorInterrupted: when calls that could not be one are started one by
// one, and the first ends the goroutine, the others are not forgotten.
func TestAcceleratorInterrupted(t *testing.T) {
	_, all := accelerators(t, 1, 24, 3)
	rt := start(t, exec.Options{Workers: 1, Accelerators: all})
	var refused atomic.Bool
	enqueue := func(c *versions.Call) {
		c.Device.(*fakeQueue).Do(func(v []*int) error { *v[0]++; return nil })
	}
	first := &versions.Op{Name: "first", Versions: []versions.Version{{Name: "fake", Constraints: versions.Constraints{Kind: "fake"},
		Run: func(c *versions.Call) error { enqueue(c); return nil }}}}
	op := &versions.Op{Name: "op", Versions: []versions.Version{{Name: "fake", Constraints: versions.Constraints{Kind: "fake"},
		Run: func(c *versions.Call) error {
			if refused.Load() {
				runtime.Goexit()
			}
			enqueue(c)
			return nil
		},
		Batch: &versions.Batch{
			Key: func(*versions.Call) any { return 0 },
			Run: func([]*versions.Call) error { refused.Store(true); return errors.New("no batch") },
		}}}}
	var gate graph.Datum
	gate.Value = &cell{}
	data := make([]graph.Datum, 4)
	for i := range data {
		data[i].Value = &cell{}
	}
	for round := 0; !refused.Load(); round++ {
		if round == 100 {
			t.Fatal("no batch was begun")
		}
		job := rt.NewJob(context.Background())
		for i := range data {
			submit(t, job, graph.Spec{Op: first, Operands: []graph.Operand{inout(&data[i])}})
		}
		// All of them become ready at once.
		submit(t, job, graph.Spec{Op: first, Operands: []graph.Operand{inout(&gate), in(&data[0]), in(&data[1]), in(&data[2]), in(&data[3])}})
		for i := range data {
			if _, err := job.Submit(&graph.Spec{Op: op, Operands: []graph.Operand{inout(&data[i])}, Failure: &graph.Failure{Then: graph.Ignore}}); err != nil {
				t.Fatal(err)
			}
		}
		over := make(chan error)
		go func() { over <- job.Wait() }()
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			if n := job.Ignored(); refused.Load() && n != len(data) {
				t.Errorf("%d tasks ended the goroutine, want %d", n, len(data))
			}
		case <-time.After(5 * time.Minute):
			t.Fatal("tasks are forgotten")
		}
	}
}
