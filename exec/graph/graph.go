package graph

// Len returns the number of tasks added.
func (g *Graph) Len() int { return int(g.last) }

// Add appends a task to the program, and returns it and whether it is ready. If it is, the caller
// must execute it. If not, the [Graph.End] of the last task that it waits for returns it.
//
// The caller has checked the spec: see [Spec.Check].
func (g *Graph) Add(s *Spec) (t *Task, ready bool) {
	t = g.newPending(s)
	writes, await := int32(0), int32(0)
	for i := range t.uses {
		u := &t.uses[i]
		switch {
		case u.mode == 0:
		case u.mode > InOut || u.datum.special != nil:
			a, w := g.addSpecial(t, u)
			await, writes = await+a, writes+w
		case u.mode == In:
			await += g.read(t, u)
		default:
			await += g.write(t, u)
			writes++
		}
	}
	if g.Observer != nil || g.Log != nil {
		g.observe(t)
	}
	// The task's life is one reference, and each version that it makes another. None can be dropped
	// before the task has run.
	t.refs = 1 + writes
	ready = t.settle(await)
	// Nothing is missing, but a member of Commute groups may have to wait for its turn; endMember
	// then returns it.
	if ready && t.special {
		ready = len(g.enter(t, nil)) == 1
	}
	if ready && g.Clock != nil {
		t.ready = g.Clock()
	}
	return t, ready
}

// AddReady is [Graph.Add] for a task that neither waits nor is waited for: while it is in flight no
// other task uses its data, none of which are renamed or reduced. Nothing is inferred.
func (g *Graph) AddReady(s *Spec) *Task {
	t := g.newPending(s)
	t.alone, t.refs = true, 1
	if g.Observer != nil || g.Log != nil {
		g.observe(t)
	}
	t.settle(0)
	t.ready = t.added
	return t
}

// newPending returns a task as s describes it, which no other goroutine knows yet.
func (g *Graph) newPending(s *Spec) *Task {
	g.last++
	t := g.newTask(len(s.Operands))
	t.id = g.last
	t.Op, t.Params, t.Priority = s.Op, s.Params, s.Priority
	if s.Failure != nil || s.Local != nil || s.Constraints != nil || s.Witness != nil {
		if t.extras == nil {
			t.extras = &extras{}
		}
		t.extras.failure, t.extras.local, t.extras.constraints, t.extras.witness = s.Failure, s.Local, s.Constraints,
			s.Witness
	}
	if g.Clock != nil {
		t.added = g.Clock()
	}
	// All uses must be complete before the first is on a list of waiters: from then on other
	// goroutines read them.
	for i := range s.Operands {
		t.uses[i].begin(t, s.Operands[i])
	}
	join(t.uses)
	return t
}

// Check panics with ErrNoOp, ErrNoDatum or ErrMode if the spec makes no sense.
func (s *Spec) Check() {
	if s.Op == nil {
		panic(ErrNoOp)
	}
	for _, o := range s.Operands {
		if o.Datum == nil {
			panic(ErrNoDatum)
		}
		if !o.Mode.valid() || o.Mode == Reduce && (o.Datum.special == nil || o.Datum.special.combine == nil) {
			panic(ErrMode)
		}
		if o.Mode > InOut && s.clashes(o) {
			panic(ErrMode)
		}
	}
}

// clashes reports whether another operand has the same datum in an incompatible mode.
func (s *Spec) clashes(o Operand) bool {
	for _, x := range s.Operands {
		if x.Datum == o.Datum && !(x.Mode | o.Mode).valid() {
			return true
		}
	}
	return false
}

// AddWatch adds a Watch on the latest version of d, under the rules of Add. The returned task has
// no op: when it is ready, the runtime calls w.Done instead of executing it, and then [Graph.End].
func (g *Graph) AddWatch(d *Datum, w *Watch) (t *Task, ready bool) {
	if d == nil {
		panic(ErrNoDatum)
	}
	if d.special != nil {
		g.seal(d.special)
	}
	t = &Task{graph: g, odd: true, Params: w}
	t.setLen(1)
	u := &t.uses[0]
	u.begin(t, Operand{d, In})
	t.refs = 1
	v := d.latest()
	u.in = v
	d.reads++
	return t, t.settle(t.await(u, v))
}
