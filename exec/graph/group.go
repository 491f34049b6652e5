package graph

import "slices"

// Reduction says how tasks that access a datum by [Reduce] share it. Each has a copy to itself
// while it runs. Copies pass from task to task, so there are as many as tasks that run at once.
// When all members of a group have ended, Combine adds every copy to the datum's value.
type Reduction struct {
	// New returns a neutral element: the value of a new copy.
	New func() any
	// Combine adds src to dst. Both are of the type that New returns, and dst may be the datum's
	// Value. It must be associative and commutative, except for rounding: copies come in any order.
	// It runs on the goroutine that ends the last task or submits the next one, and must not use
	// the job. A panic in it is the failure of the group's first task.
	Combine func(dst, src any)
}

// SetReduction allows access to d by [Reduce]. It must be called before the
// first such task is added.
func (d *Datum) SetReduction(r Reduction) {
	x := d.makeSpecial()
	x.neutral, x.combine = r.New, r.Combine
}

// addSpecial infers the dependencies of u if its datum or mode is uncommon. It returns the number of
// awaited events and of versions made. The first access of its kind opens a group, behind a fence;
// any other access seals the open group.
func (g *Graph) addSpecial(t *Task, u *use) (await, writes int32) {
	x := u.datum.makeSpecial()
	t.special, u.special = true, true
	if u.mode <= InOut {
		g.seal(x)
		if x.renew != nil {
			return g.renaming(t, u, x)
		}
		if u.mode == In {
			return g.read(t, u), 0
		}
		return g.write(t, u), 1
	}
	if x.group == nil || x.group.mode != u.mode {
		g.seal(x)
		g.fence(u.datum, nil)
		// Latest is the value at this point of the program: copies are added to that.
		x.group = &group{mode: u.mode, datum: u.datum, first: t.id, into: u.datum.Latest()}
		if u.mode == Reduce && x.value != nil {
			x.group.holds = x.value
			x.value.uses.Add(1)
		}
		g.groups.mu.Lock()
		g.groups.open = append(g.groups.open, x.group)
		g.groups.mu.Unlock()
	}
	g.groups.mu.Lock()
	if g.groups.of == nil {
		g.groups.of = make(map[*use]*group)
	}
	g.groups.of[u] = x.group
	g.groups.mu.Unlock()
	if x.renew != nil && u.mode == Commute {
		g.hold(u, x.value)
	}
	return g.read(t, u), 0
}

// seal closes the datum's group: tasks added from now on wait for all of it. Only the goroutine
// that adds tasks seals; workers only see the fence.
func (g *Graph) seal(x *special) {
	gr := x.group
	if gr == nil {
		return
	}
	x.group = nil
	g.groups.mu.Lock()
	if i := slices.Index(g.groups.open, gr); i >= 0 {
		g.groups.open = slices.Delete(g.groups.open, i, i+1)
	}
	g.groups.mu.Unlock()
	g.fence(gr.datum, gr)
}

// Open reports whether there are groups for [Graph.Seal] to close. It may be called at any time.
func (g *Graph) Open() bool {
	g.groups.mu.Lock()
	defer g.groups.mu.Unlock()
	return len(g.groups.open) > 0
}

// Seal closes all groups, so that reductions are combined when the tasks added so far have ended,
// and not only when a task wants the result. It follows the rules of [Graph.Add].
func (g *Graph) Seal() {
	g.groups.mu.Lock()
	open := append([]*group(nil), g.groups.open...)
	g.groups.mu.Unlock()
	for _, gr := range open {
		g.seal(gr.datum.special)
	}
}

// fence adds a fence on d: before a group if gr is nil, else after gr. It starts with two
// references, its life and the version that it makes. Its number is 0, as it is no task of the
// program.
func (g *Graph) fence(d *Datum, gr *group) {
	f := &Task{graph: g, special: true, odd: true, Params: &fence{group: gr}}
	f.setLen(1)
	u := &f.uses[0]
	u.begin(f, Operand{d, InOut})
	f.refs = 2
	if gr == nil {
		g.observeBetween(opens, d)
	} else {
		g.observeBetween(closes, d)
	}
	if f.settle(g.write(f, u)) {
		g.enter(f, nil) // no task waits for it yet
	}
}
