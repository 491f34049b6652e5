package core

import (
	"slices"
	"testing"
	"time"
)

// TestGate: the runtime has one task more than it executes once tasks are known to be short. Long
// ones stay at the gate, where they can be given back.
func TestGate(t *testing.T) {
	const workers = 2
	for _, c := range []struct {
		name string
		each time.Duration // a task takes
		more int           // tasks in the runtime
	}{{"short", time.Millisecond, workers + 1}, {"long", 20 * time.Millisecond, workers}} {
		g, now, id := NewGate[int](workers), time.Unix(0, 0), 0
		enters := func() bool {
			id++
			return g.Enter(Gated[int]{Task: id, ID: uint64(id), Width: 1})
		}
		if !enters() || !enters() || enters() {
			t.Errorf("%s: nothing is known of tasks, and there are not as many as workers", c.name)
		}
		var next []int
		for i := range 10 { // each worker ends one at a time
			enters()
			now = now.Add(c.each / workers)
			next = g.Leave(1+i, now, next[:0])
		}
		if in, waiting := g.Tasks(); len(in) != c.more || len(in)+len(waiting) != id-10 {
			t.Errorf("%s: the runtime has %d tasks, want %d; %d wait", c.name, len(in), c.more, len(waiting))
		}
		_, waiting := g.Tasks()
		ids := make([]uint64, 0, id)
		for i := range id {
			ids = append(ids, uint64(1+i))
		}
		// All that wait go back, and nothing that has begun, as task 11.
		if back := g.TakeBack(0, ids, id); len(back) != len(waiting) || slices.Contains(back, 11) {
			t.Errorf("%s: it gives %v back, and %v waited", c.name, back, waiting)
		}
	}
}
