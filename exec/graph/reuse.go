package graph

import (
	"sync/atomic"
)

// release drops a version that no task will touch again. A version that was there
// before any task is the datum's own memory.
func (g *Graph) release(v *version) {
	if v.task != nil && v.task.unref(1) {
		g.recycle(v.task)
	}
}

// drop is release for Add, which has a list of its own for the memory.
func (g *Graph) drop(v *version) {
	if t := v.task; t != nil && t.unref(1) && t.forget() {
		*t.nextFree(), g.free = g.free, t
	}
}

// unref drops n references and reports whether those were the last ones. The reference
// of a version belongs to the last that touches it: a reader, the next writer,
// or for lone ones its maker.
func (t *Task) unref(n int32) bool {
	// Who has all that are left is alone with the task.
	return atomic.LoadInt32(&t.refs) == n || atomic.AddInt32(&t.refs, -n) == 0
}

// recycle gives back the memory of a task that nobody refers to. Any goroutine may call
// it: the list is a stack onto which they push. Add takes it as a whole.
func (g *Graph) recycle(t *Task) {
	if !t.forget() {
		return
	}
	for {
		head := g.ended.Load()
		*t.nextFree() = head
		if g.ended.CompareAndSwap(head, t) {
			return
		}
	}
}

// forget empties a task that nobody refers to, and reports whether it can be used
// again.
func (t *Task) forget() bool {
	if t.odd {
		return false
	}
	t.graph, t.Op, t.Params = nil, nil, nil
	return true
}

// newTask returns a task with n uses, a used one if there is one. It takes from Add's
// own list, then from that of ended tasks, then from the Pool.
func (g *Graph) newTask(n int) *Task {
	t := g.free
	if t == nil {
		// Taking the whole list at once leaves no room for an ABA mix-up.
		t = g.ended.Swap(nil)
	}
	if t == nil && g.Pool != nil {
		t = g.Pool.take()
	}
	if t == nil {
		t = &Task{graph: g}
	} else {
		g.free, *t.nextFree() = *t.nextFree(), nil
		t.graph = g
		t.Attempt, t.state, t.special, t.alone = 0, uint8(Waiting), false, false
		t.added, t.ready = 0, 0
		// Nobody else has the task: a store that is not atomic costs less.
		t.tainted, t.pending = atomic.Pointer[Fault]{}, atomic.Int32{}
	}
	t.fit(n)
	return t
}

// fit gives t room for n uses.
func (t *Task) fit(n int) {
	switch {
	case n <= inline:
		t.uses = t.own[:n]
	case cap(t.uses) >= n:
		t.uses = t.uses[:n]
	default:
		t.uses = make([]use, n)
	}
}
