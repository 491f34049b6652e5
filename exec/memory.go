package exec

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// memory is what workers on cores have for tasks that say how much they need: all of
// one kind have their target's together. A task takes its part as a whole before it
// runs, and waits without any, so nobody waits for ever: when all is given back, the
// first of those who wait has room. The scheduler's lock guards it.
//
//	take ─► runs ─► give
//	  └─► waiting ─► (give of another) granted ─► grant, to any worker of the kind ─► runs
//
// First come, first served: a small claim does not pass a large one that waits, or that
// might wait for ever. A task that waits holds no worker; a worker in the middle of a
// task, who has lent what it held while it waited for something else, waits for ready.
type memory struct {
	free    []int64   // by kind
	waiting [][]claim // by kind, first come first served
	granted [][]claim // of those, who have got theirs and no worker yet
	count   int       // of these
}

// claim is a task, or a worker in the middle of one, that wants memory.
type claim struct {
	task  *graph.Task
	bytes int64
	ready chan struct{} // of a worker
}

// newMemory returns the memory of workers of those kinds.
func newMemory(kinds []*versions.Target) memory {
	m := memory{waiting: make([][]claim, len(kinds)), granted: make([][]claim, len(kinds))}
	for _, on := range kinds {
		m.free = append(m.free, on.Memory)
	}
	return m
}

// take reserves memory for w, which holds none, or has the claim wait.
func (m *memory) take(w *seat, kind int, c claim) bool {
	if len(m.waiting[kind]) > 0 || c.bytes > m.free[kind] {
		m.waiting[kind] = append(m.waiting[kind], c)
		return false
	}
	m.free[kind] -= c.bytes
	w.held = c.bytes
	return true
}

// give gives back what w holds, and hands it on. It returns the number of tasks that
// have got theirs by that, and want a worker each.
func (m *memory) give(w *seat, kind int) (tasks int) {
	m.free[kind] += w.held
	w.held = 0
	for len(m.waiting[kind]) > 0 && m.waiting[kind][0].bytes <= m.free[kind] {
		c := m.waiting[kind][0]
		m.waiting[kind] = slices.Delete(m.waiting[kind], 0, 1)
		m.free[kind] -= c.bytes
		if c.task == nil {
			close(c.ready)
			continue
		}
		m.granted[kind] = append(m.granted[kind], c)
		m.count++
		tasks++
	}
	return tasks
}

// grant returns a task that has got its memory, for w, nil if there is none. W holds it
// from now on.
func (m *memory) grant(w *seat, kind int) *graph.Task {
	granted := &m.granted[kind]
	if len(*granted) == 0 {
		return nil
	}
	c := (*granted)[0]
	*granted = slices.Delete(*granted, 0, 1)
	m.count--
	w.held = c.bytes
	return c.task
}
