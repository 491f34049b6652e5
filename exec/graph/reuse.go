package graph

import (
	"sync/atomic"
)

// release drops a version that no task will touch again. The memory of an initial version is the
// datum's.
func (g *Graph) release(v *version) {
	if v.task != nil && v.task.unref(1) {
		g.recycle(v.task)
	}
}

// drop is release for Add, which has its own list of reusable tasks.
func (g *Graph) drop(v *version) {
	if t := v.task; t != nil && t.unref(1) && t.forget() {
		*t.nextFree(), g.free = g.free, t
	}
}

// unref drops n references and reports whether they were the last. The reference of a version
// belongs to the last use that touches it: a reader, the next writer or, for a lone one, its maker.
func (t *Task) unref(n int32) bool {
	// The holder of all remaining references is alone with the task.
	return atomic.LoadInt32(&t.refs) == n || atomic.AddInt32(&t.refs, -n) == 0
}

// recycle pushes the memory of a task without references onto the stack ended. Any goroutine may
// call it. Add takes the whole stack.
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

// forget empties a task without references, and reports whether it can be reused.
func (t *Task) forget() bool {
	if t.odd {
		return false
	}
	t.graph, t.Op, t.Params = nil, nil, nil
	return true
}

// newTask returns a task with n uses. It takes memory from Add's own list, then from the stack of
// ended tasks, then from the Pool.
func (g *Graph) newTask(n int) *Task {
	t := g.free
	if t == nil {
		// Taking the whole stack at once avoids the ABA problem.
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
		// No other goroutine has the task: plain stores cost less.
		t.tainted, t.pending = atomic.Pointer[Fault]{}, atomic.Int32{}
	}
	t.setLen(n)
	return t
}

// setLen gives t room for n uses.
func (t *Task) setLen(n int) {
	switch {
	case n <= inline:
		t.uses = t.own[:n]
	case cap(t.uses) >= n:
		t.uses = t.uses[:n]
	default:
		t.uses = make([]use, n)
	}
}
