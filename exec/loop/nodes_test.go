package loop_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/topo"
)

// TestLoopNodes: on a machine with several NUMA nodes, the workers of a node share its queue, and one that steals takes
// all from its own node first. The first worker of the loop does everything but what the others hold.
func TestLoopNodes(t *testing.T) {
	nodes := len(topo.Here().Nodes)
	if nodes < 2 {
		t.Skip("this machine has one NUMA node")
	}
	const items = 1000
	workers := 2 * nodes
	rt, err := exec.NewLocal(exec.Options{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	at := rt.Workers()
	for _, layout := range []loop.Layout{loop.PerSocket, loop.PerCore} {
		for _, victim := range []loop.Victim{loop.SeqPri, loop.RndPri} {
			var mu sync.Mutex
			all, over := make(chan struct{}), make(chan struct{})
			began := map[int]bool{}
			free, done := -1, 0
			var queues []int // of the free worker, in the order of its chunks
			var s loop.Stats
			p := loop.Plan{Scheme: loop.SS, Layout: layout, Victim: victim}
			err := loop.For(t.Context(), rt, items, loop.Options{Plan: p, Stats: &s}, func(c loop.Chunk) error {
				mu.Lock()
				if free < 0 {
					free = c.Worker
				}
				if !began[c.Worker] {
					if began[c.Worker] = true; len(began) == workers {
						close(all)
					}
				}
				wait := over
				if c.Worker == free {
					queues, wait = append(queues, c.Queue), all
					if done++; done == items-workers+1 {
						close(over)
					}
				}
				mu.Unlock()
				return waitFor(c.Context(), wait)
			})
			if err != nil {
				t.Fatal(err)
			}
			// A queue's location is that of its workers.
			location := map[int]int{}
			for _, w := range at {
				if layout == loop.PerCore {
					location[w.ID] = w.Location
				} else {
					location[w.Location] = w.Location
				}
			}
			own, here := queues[0], 0
			for here < len(queues) && location[queues[here]] == at[free].Location {
				here++
			}
			if location[own] != at[free].Location || here != s.Items/nodes-1 {
				t.Errorf("%v: worker %d at %d began with %d items of its node, and had queue %d first", p, free, at[free].Location, here, own)
			}
			for _, q := range queues[here:] {
				if location[q] == at[free].Location {
					t.Errorf("%v: worker %d came back to queue %d", p, free, q)
					break
				}
			}
			if n := len(slices.Compact(slices.Sorted(slices.Values(queues)))); n != len(location) {
				t.Errorf("%v: it took from %d queues of %d", p, n, len(location))
			}
		}
	}
}

// waitFor waits until c is closed, or the loop has failed.
func waitFor(ctx context.Context, c chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
