package graph

// End records the end of task t: well (fault nil and state Done), failed or
// cancelled (fault not nil taints what t should have produced). It appends
// the tasks that have become ready by it to ready, in the order in which they
// were added for each output, and returns the slice. t must not be used
// afterwards.
func (g *Graph) End(t *Task, state State, fault *Fault, ready []*Task) []*Task {
	t.state = uint8(state)
	if fault != nil {
		t.tainted.Store(fault)
	}
	drop := int32(1) // its own life, and what endWrite adds
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
	if t.aside != nil { // most have none, and their cache line is not written then
		*t.aside = aside{}
	}
	if t.unref(drop) {
		g.recycle(t)
	}
	return ready
}

// Give records that running task t has finished with operand i: the version
// that it makes is there, or the one that it reads may be overwritten, although
// the task has not ended. It appends the tasks that have become ready by it to
// ready and returns the slice. A fault at the end of t does not taint what was
// given.
//
// Give may be called for several operands of t at once, but before End. It
// panics with ErrOperand if there is no operand i, and with ErrGiven if t has
// finished with its datum already.
func (g *Graph) Give(t *Task, i int, ready []*Task) []*Task {
	if i < 0 || i >= len(t.uses) {
		panic(ErrOperand)
	}
	// End and other calls of Give see the flag, and leave the operand alone.
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

// publish is endWrite where it is not a part of End. There the task is alive, and
// cannot lose its last reference by it.
func (g *Graph) publish(u *use, fault *Fault, ready []*Task) []*Task {
	ready, lone := endWrite(u, fault, ready)
	if lone != 0 {
		g.release(&u.out)
	}
	return ready
}

// endSpecial ends a use of a datum that is special. The renamed value that it has had
// goes first.
func (g *Graph) endSpecial(u *use, fault *Fault, ready []*Task) []*Task {
	g.letGo(u)
	switch u.mode {
	case Commute, Reduce:
		return g.endMember(u, fault, ready)
	case In:
		return g.endRead(u, ready)
	}
	return g.publish(u, fault, ready)
}

// endRead takes u off the readers of the version it read. The last of them, if the next
// writer is known, releases that, and drops the version.
func (g *Graph) endRead(u *use, ready []*Task) []*Task {
	v := u.in
	if v.ended.Add(-1) != 0 {
		return ready
	}
	next := v.next
	v.next = nil // or old versions would keep all later ones
	g.release(v)
	if next == nil { // renamed: nobody waits for the readers
		return ready
	}
	return next.out.task.arrive(ready)
}

// endWrite publishes the version that u made. The other result is how many references
// to u's task the caller must drop for it. It makes ready those for which nothing else
// is missing. u.out must not be touched afterwards: its last reader may have dropped
// it, and u's task with it, but for the references that the caller has.
func endWrite(u *use, fault *Fault, ready []*Task) ([]*Task, int32) {
	end := produced
	if fault != nil {
		end = broken
	}
	w := u.out.waiters.Swap(end)
	if w == nil {
		return ready, 0
	}
	// The list holds the latest first: a task that overwrites the version, if
	// there is one.
	drop := int32(0)
	if w.lone {
		drop = 1
	}
	// Successors are to come out in the order in which they were added.
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
	// Who sees 1 is the last one: nobody else is going to touch it.
	if t.pending.Load() != 1 && t.pending.Add(-1) != 0 {
		return ready
	}
	if t.special {
		return t.graph.enter(t, ready)
	}
	t.state = uint8(Ready)
	return append(ready, t)
}
