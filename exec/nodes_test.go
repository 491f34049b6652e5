package exec_test

import (
	"context"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/versions"
)

// meeting holds tasks until as many are there as workers. So each worker has one of them.
type meeting struct {
	mu      sync.Mutex
	workers int
	came    int
	full    chan struct{}
}

func meetingOf(workers int) *meeting { return &meeting{workers: workers, full: make(chan struct{})} }

// wait returns when all are there; then the next meeting begins.
func (m *meeting) wait(ctx context.Context) error {
	m.mu.Lock()
	full := m.full
	if m.came++; m.came%m.workers == 0 {
		close(full)
		m.full = make(chan struct{})
	}
	m.mu.Unlock()
	select {
	case <-full:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestLocalityNodes: under the policies that look where data are, tasks run on the NUMA node that has written what they
// read. The nodes are those of this machine if it has several, and else claimed.
func TestLocalityNodes(t *testing.T) {
	const workers, rounds = 4, 8
	m := topo.Here()
	for _, kind := range []dispatch.Kind{dispatch.Locality, dispatch.FIFOData} {
		o := exec.Options{Workers: workers, Policy: kind}
		if len(m.Nodes) < 2 {
			o.Nodes(2)
			o.Float = true
		}
		rt := start(t, o)
		locations := map[int]int{}
		for _, w := range rt.Workers() {
			locations[w.Location]++
		}
		if len(locations) != max(len(m.Nodes), 2) || locations[0] != workers/len(locations) {
			t.Fatalf("%d workers are at locations %v", workers, locations)
		}
		var mu sync.Mutex
		far := 0
		meet, gate := meetingOf(workers), make(chan struct{})
		// A datum's value is the location where it was written.
		task := func(name string, do func(at int, value *int)) *versions.Op {
			return opOf(name, func(c *versions.Call) error {
				turn, err := exec.TakeTurn(c)
				if err != nil {
					return err
				}
				w := turn.Worker()
				if cpu := topo.CPU(); w.CPUs != nil && m.NodeOf(cpu) != w.Node {
					t.Errorf("worker %d of node %d runs on CPU %d, of node %d", w.ID, w.Node, cpu, m.NodeOf(cpu))
				}
				mu.Lock()
				do(w.Location, c.Args[0].(*int))
				mu.Unlock()
				return meet.wait(c.Ctx)
			})
		}
		write := task("write", func(at int, value *int) { *value = at })
		read := task("read", func(at int, value *int) {
			if *value != at {
				far++
			}
		})
		held := make(chan struct{}, workers)
		hold := opOf("hold", func(*versions.Call) error { held <- struct{}{}; <-gate; return nil })
		job := rt.NewJob(t.Context())
		var data [workers]graph.Datum
		for i := range data {
			data[i] = graph.Datum{Value: new(int), Bytes: 1000}
			submit(t, job, graph.Spec{Op: write, Operands: []graph.Operand{{Datum: &data[i], Mode: graph.Out}}})
		}
		for range workers {
			submit(t, job, graph.Spec{Op: hold})
		}
		for range workers {
			<-held // all is written, and every worker waits
		}
		for i := range data {
			for range rounds {
				submit(t, job, graph.Spec{Op: read, Operands: []graph.Operand{{Datum: &data[i], Mode: graph.In}}})
			}
		}
		close(gate)
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		if far != 0 {
			t.Errorf("%v: %d of %d tasks ran far from what they read", kind, far, workers*rounds)
		}
	}
}
