package graph

// End records the end of task t: done (fault nil), failed or cancelled (fault not nil: it taints
// the versions that t should have made). It appends the tasks that become ready to ready, for each
// output in the order in which they were added, and returns the slice. t must not be used
// afterwards.
func (g *Graph) End(t *Task, state State, fault *Fault, ready []*Task) []*Task {
	t.state = uint8(state)
	if fault != nil {
		t.tainted.Store(fault)
	}
	drop := int32(1) // the task's life, and the references that endWrite reports
	for i := range t.uses {
		u := &t.uses[i]
		switch {
		case u.mode == 0 || t.alone || u.given.Load():
		case u.special:
			ready = g.endSpecial(u, fault, ready)
		case u.mode == In:
			ready = g.endRead(u, ready)
		default:
			var lone int32
			ready, lone = endWrite(u, fault, ready)
			drop += lone
		}
		u.in, u.datum = nil, nil // the task's memory may outlive the data by far
	}
	if t.extras != nil { // do not write the cache line of tasks that have none
		*t.extras = extras{}
	}
	if t.unref(drop) {
		g.recycle(t)
	}
	return ready
}

// Give records that the running task t has finished with operand i: the version that it makes is
// there, or the one that it reads may be overwritten, although t has not ended. It appends the
// tasks that become ready to ready and returns the slice. A fault at the end of t does not taint
// the operand.
//
// Give may be called for several operands of t at once, but before End. It panics with ErrOperand
// if there is no operand i, and with ErrGiven if t has finished with its datum already.
func (g *Graph) Give(t *Task, i int, ready []*Task) []*Task {
	if i < 0 || i >= len(t.uses) {
		panic(ErrOperand)
	}
	// End and other calls of Give see the flag and skip the operand.
	u := t.first(i)
	if u.given.Swap(true) {
		panic(ErrGiven)
	}
	switch {
	case t.alone:
		return ready
	case u.special:
		return g.endSpecial(u, nil, ready)
	case u.mode == In:
		return g.endRead(u, ready)
	}
	return g.publish(u, nil, ready)
}

// publish is endWrite before the end of the task, whose last reference cannot be dropped then.
func (g *Graph) publish(u *use, fault *Fault, ready []*Task) []*Task {
	ready, lone := endWrite(u, fault, ready)
	if lone != 0 {
		g.release(&u.out)
	}
	return ready
}

// endSpecial ends a use of a special datum. Its renamed value is released first.
func (g *Graph) endSpecial(u *use, fault *Fault, ready []*Task) []*Task {
	g.releaseValue(u)
	switch u.mode {
	case Commute, Reduce:
		return g.endMember(u, fault, ready)
	case In:
		return g.endRead(u, ready)
	}
	return g.publish(u, fault, ready)
}

// endRead takes u off the readers of its version. If the next writer is known, the last reader
// drops the version and counts the writer's event.
func (g *Graph) endRead(u *use, ready []*Task) []*Task {
	v := u.in
	if v.ended.Add(-1) != 0 {
		return ready
	}
	next := v.next
	v.next = nil // else old versions would keep all later ones alive
	g.release(v)
	if next == nil { // renamed: no task waits for the readers
		return ready
	}
	return next.out.task.arrive(ready)
}

// endWrite publishes the version that u made, and appends the tasks for which nothing else is
// missing to ready. The other result is the number of references to u's task that the caller must
// drop for it. u.out must not be touched afterwards: its last reader may have dropped it, and u's
// task with it, except for the caller's references.
func endWrite(u *use, fault *Fault, ready []*Task) ([]*Task, int32) {
	end := produced
	if fault != nil {
		end = broken
	}
	w := u.out.waiters.Swap(end)
	if w == nil {
		return ready, 0
	}
	// The latest waiter comes first: a task that overwrites the version, if there is one.
	drop := int32(0)
	if w.lone {
		drop = 1
	}
	// Reverse the list: successors come out in the order in which they were added.
	var first *use
	for w != nil {
		w.waiter, w, first = first, w.waiter, w
	}
	for w = first; w != nil; {
		t, after := w.out.task, w.waiter
		if fault != nil && w.mode&In != 0 {
			t.taint(fault)
		}
		w.waiter = nil
		ready = t.arrive(ready)
		w = after
	}
	return ready, drop
}

// arrive counts one awaited event and appends t to ready if it was the last.
func (t *Task) arrive(ready []*Task) []*Task {
	// The goroutine that sees 1 is the last one: no other touches the word.
	if t.pending.Load() != 1 && t.pending.Add(-1) != 0 {
		return ready
	}
	if t.special {
		return t.graph.enter(t, ready)
	}
	t.state = uint8(Ready)
	return append(ready, t)
}

// enter makes t, for which nothing is missing, ready. A member of Commute groups may still wait for
// its turn, and a fence ends at once. enter appends the tasks that can run to ready: t, or for a
// fence those that it releases.
func (g *Graph) enter(t *Task, ready []*Task) []*Task {
	if t.fence() != nil {
		return g.endFence(t, ready)
	}
	g.groups.mu.Lock()
	entered := g.acquire(t)
	g.groups.mu.Unlock()
	if !entered {
		return ready
	}
	t.state = uint8(Ready)
	return append(ready, t)
}

// acquire takes all Commute groups of t, or none and puts t on the list of the first that is held.
// It does not wait: a member that gets all is ready, and another member's endMember returns one
// that does not. The caller holds the lock.
func (g *Graph) acquire(t *Task) bool {
	for i := range t.uses {
		if gr := g.commuting(&t.uses[i]); gr != nil && gr.held {
			gr.waiting = append(gr.waiting, t)
			return false
		}
	}
	for i := range t.uses {
		if gr := g.commuting(&t.uses[i]); gr != nil {
			gr.held = true
		}
	}
	return true
}

// commuting returns the Commute group of u, nil if it has none. The caller holds the lock.
func (g *Graph) commuting(u *use) *group {
	if u.mode == Commute {
		return g.groups.of[u]
	}
	return nil
}

// endMember records that a member of a group has finished with the datum. Its copy goes back to the
// group, for the next member. Of the members that wait for the datum the first that gets all its
// groups becomes ready; those before it now wait for another group. Then the use ends like a
// reader's, which may release the fence.
func (g *Graph) endMember(u *use, fault *Fault, ready []*Task) []*Task {
	g.groups.mu.Lock()
	gr := g.groups.of[u]
	delete(g.groups.of, u)
	if c, ok := g.groups.values[u]; ok && u.mode == Reduce {
		gr.free = append(gr.free, c)
		delete(g.groups.values, u)
	}
	var waiting []*Task
	if u.mode == Commute {
		gr.held = false
		waiting, gr.waiting = gr.waiting, nil
	}
	for i, t := range waiting {
		if gr.held { // taken again: the others keep waiting
			gr.waiting = waiting[i:]
			break
		}
		waiting[i] = nil
		if g.acquire(t) {
			t.state = uint8(Ready)
			ready = append(ready, t)
		}
	}
	g.groups.mu.Unlock()
	if fault != nil {
		storeSmallest(&gr.fault, fault)
	}
	return g.endRead(u, ready)
}

// endFence ends a fence that is ready. The fence behind a group passes on the members' smallest
// fault, or combines the copies: all members have ended, so no other goroutine uses them.
func (g *Graph) endFence(t *Task, ready []*Task) []*Task {
	fault := t.Tainted()
	if gr := t.fence().group; gr != nil {
		if f := gr.fault.Load(); f != nil && (fault == nil || f.Task < fault.Task) {
			fault = f
		}
		if fault == nil && gr.mode == Reduce {
			fault = g.reduce(gr)
		}
		g.groups.mu.Lock()
		g.groups.copies.count(-len(gr.copies), gr.datum.Bytes)
		g.groups.mu.Unlock()
		if gr.holds != nil {
			gr.holds.drop()
		}
		t.fence().group = nil // the fence lives as long as its version
	}
	return g.End(t, Done, fault, ready)
}

// reduce combines the copies of a group whose members have ended, in the order in which the copies
// were made. That order, and so the last bits of a sum, depends on timing.
func (g *Graph) reduce(gr *group) (fault *Fault) {
	defer func() {
		if v := recover(); v != nil {
			fault = g.blame("reduction", gr.datum, gr.first, v)
		}
	}()
	for _, c := range gr.copies {
		gr.datum.special.combine(gr.into, c)
	}
	return nil
}
