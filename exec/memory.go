package exec

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// memory is the memory that workers on cores have for tasks that declare their need: all workers of
// a kind share their target's Memory. A task takes its whole need before it runs, and waits without
// holding any. So no task waits for ever. The scheduler's lock guards it.
//
//	take ─► runs ─► give
//	  └─► waiting ─► (give of another) granted ─► grant, to any worker of the kind ─► runs
//
// Claims are served in order: a small claim does not pass a large one, which might wait for ever. A
// waiting task holds no worker. A worker that waits inside a task has given its memory back, and
// waits for ready before it goes on.
type memory struct {
	free    []int64   // by kind
	waiting [][]claim // by kind, in order of arrival
	granted [][]claim // by kind: claims that have their memory and wait for a worker
	count   int       // number of claims in granted
}

// claim is a task, or a worker in the middle of one, that wants memory.
type claim struct {
	task  *graph.Task
	bytes int64
	ready chan struct{} // closed when a worker's claim is granted
}

// newMemory returns the memory of workers of these kinds.
func newMemory(kinds []*versions.Target) memory {
	m := memory{waiting: make([][]claim, len(kinds)), granted: make([][]claim, len(kinds))}
	for _, on := range kinds {
		m.free = append(m.free, on.Memory)
	}
	return m
}

// take reserves c's memory for w, which holds none, or adds c to the waiting claims.
func (m *memory) take(w *seat, kind int, c claim) bool {
	if len(m.waiting[kind]) > 0 || c.bytes > m.free[kind] {
		m.waiting[kind] = append(m.waiting[kind], c)
		return false
	}
	m.free[kind] -= c.bytes
	w.held = c.bytes
	return true
}

// give gives back what w holds and grants waiting claims. It returns the number of tasks that have
// got their memory and need a worker each.
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

// grant returns a task that has got its memory, nil if there is none. w holds the memory from now
// on.
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
