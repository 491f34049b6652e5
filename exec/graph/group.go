package graph

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A group is a run of tasks in program order that access one datum by Commute,
// or by Reduce, with no other access between them. Its members do not wait for
// one another. To the rest of the graph they are readers of a version that a
// fence makes before them; a fence after them waits for these readers and makes
// the version that all members together have produced:
//
//	          ┌─► member ─┐
//	write ─► fence ─► member ─► fence ─► read
//	          └─► member ─┘
//
// A fence is a task without an op that ends as soon as it is ready.
//
// A group is open from its first member until another kind of access, Seal or a Watch
// seals it: then its second fence is added, and no member comes any more. Members of a
// Reduce group run as they like, each with a copy. Of a Commute group one has the datum
// at a time: a member whose version is there takes all its groups at once, or waits in
// the list of the first that is taken, holding none. So members of several groups
// cannot wait for one another in a circle.
type group struct {
	mode  Mode
	datum *Datum
	first TaskID                // the first member
	into  any                   // the value to which a Reduce group is added
	holds *renamed              // the same, if it has to be kept
	fault atomic.Pointer[Fault] // of the smallest member that failed

	// The graph's lock for groups guards the rest.
	held    bool    // by a member of a Commute group that is ready or runs
	waiting []*Task // members that are ready but for that
	copies  []any   // of a Reduce group: all
	free    []any   // those that no member has
}

// special is what a datum has that is accessed in uncommon ways.
type special struct {
	group *group // the latest accesses, if nothing came after them

	neutral func() any
	combine func(dst, src any)

	renew func() any
	value *renamed // of the latest version, if there is renew
}

// groups is the state of a graph's special accesses. The maps know a use until its
// task has finished with the datum.
type groups struct {
	mu     sync.Mutex // a leaf
	of     map[*use]*group
	values map[*use]any // what Value returns, for copies and renamed versions
	open   []*group

	copies Copies
}

// uncommon returns d's special, which it makes if there is none.
func (d *Datum) uncommon() *special {
	if d.special == nil {
		d.special = &special{}
	}
	return d.special
}

// Reduction says how tasks that access a datum by [Reduce] share it. Each has a
// copy to itself while it runs; copies go from task to task, so there are as
// many as tasks that run at once. When all members of a group have ended, Combine
// adds every copy to the datum's value.
type Reduction struct {
	// New returns a neutral element: the value of a new copy.
	New func() any
	// Combine adds src to dst; the two are of the type that New returns, and dst
	// may be the datum's Value. It must be associative and commutative, but for
	// rounding: copies come in any order. It runs on the goroutine that ends the
	// last task, or submits the next one, and must not use the job. A panic in it
	// is the failure of the group's first task.
	Combine func(dst, src any)
}

// SetReduction allows access to d by [Reduce]. It must be called before the
// first such task is added.
func (d *Datum) SetReduction(r Reduction) {
	x := d.uncommon()
	x.neutral, x.combine = r.New, r.Combine
}

// special infers what u waits for where the datum or the mode is uncommon. It returns
// the number of events and of versions made. The first access of its kind opens a
// group, behind a fence; any other seals the group that is open.
func (g *Graph) special(t *Task, u *use) (await, writes int32) {
	x := u.datum.uncommon()
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

// seal ends the group of a datum: what is added from now on waits for all of it. Only
// the goroutine that adds tasks seals; workers only see the fence.
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

// Open reports whether there are groups for [Graph.Seal] to end. It may be called
// at any time.
func (g *Graph) Open() bool {
	g.groups.mu.Lock()
	defer g.groups.mu.Unlock()
	return len(g.groups.open) > 0
}

// Seal ends all groups: reductions are combined when the tasks added so far have
// ended, and not only when a task wants the result. It follows the rules of
// [Graph.Add].
func (g *Graph) Seal() {
	g.groups.mu.Lock()
	open := append([]*group(nil), g.groups.open...)
	g.groups.mu.Unlock()
	for _, gr := range open {
		g.seal(gr.datum.special)
	}
}

// fence adds a fence on d: before a group if gr is nil, or else after gr. It has two
// references from the beginning, its life and the version that it makes. Its number is
// 0, as it is no task of the program.
func (g *Graph) fence(d *Datum, gr *group) {
	f := &Task{graph: g, special: true, odd: true, Params: &fence{group: gr}}
	f.fit(1)
	u := &f.uses[0]
	u.begin(f, Operand{d, InOut})
	f.refs = 2
	if gr == nil {
		g.happens(opens, d)
	} else {
		g.happens(closes, d)
	}
	if f.settle(g.write(f, u)) {
		g.enter(f, nil) // nobody waits for it yet
	}
}

// fence is what makes a task a fence.
type fence struct{ group *group }

// enter makes a task ready for which nothing is missing but, if it is a member of
// Commute groups, its turn. Fences end at once. It appends what can run to ready, which
// for a fence are those that it releases.
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

// acquire takes all groups of t that exclude others, or none and puts t on the list of
// the first that is held. The caller holds the lock. It is a step without a wait: a
// member that gets them all is ready, one that does not is handed out by the endMember
// of another.
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

// commuting returns the group that u needs for itself, nil for none. The caller holds
// the lock.
func (g *Graph) commuting(u *use) *group {
	if u.mode == Commute {
		return g.groups.of[u]
	}
	return nil
}

// endMember records that a member of a group has finished with the datum. A copy goes
// back to the group's, for the next member. Of those that wait for the datum the first
// that gets all its groups is ready; those before it wait for another group by now.
// Then the use ends as that of a reader, which may release the fence.
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
		if gr.held { // nobody else gets it now
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
		smallest(&gr.fault, fault)
	}
	return g.endRead(u, ready)
}

// endFence ends a fence that is ready. The one behind a group passes on the smallest
// fault of the members, or combines the copies: all have ended, so nobody else is at
// them.
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
		t.fence().group = nil // the fence stays as long as the version that it has made
	}
	return g.End(t, Done, fault, ready)
}

// reduce combines the copies of a group whose members have ended. The order is that in
// which the copies were made, which depends on timing: so do the last bits of a sum.
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

// value is Task.Value for a datum that is special. For Reduce a use gets its copy when
// it first asks, and keeps it: one that another member has given back, in which that
// one's sum is, or a new one.
func (g *Graph) value(u *use) any {
	g.groups.mu.Lock()
	v, ok := g.groups.values[u]
	gr := g.groups.of[u]
	if ok || u.mode != Reduce {
		g.groups.mu.Unlock()
		switch r, is := v.(*renamed); {
		case is:
			return r.value
		case ok:
			return v
		}
		return u.datum.Value
	}
	if n := len(gr.free); n > 0 {
		c := gr.free[n-1]
		gr.free = gr.free[:n-1]
		g.groups.keep(u, c)
		g.groups.mu.Unlock()
		return c
	}
	g.groups.mu.Unlock()
	// It may take its time, and panic. Nobody else asks for this use meanwhile.
	c := u.datum.special.neutral()
	g.groups.mu.Lock()
	gr.copies = append(gr.copies, c)
	g.groups.copies.count(1, u.datum.Bytes)
	g.groups.keep(u, c)
	g.groups.mu.Unlock()
	return c
}

// keep makes v the value of u. The caller holds the lock.
func (s *groups) keep(u *use, v any) {
	if s.values == nil {
		s.values = make(map[*use]any)
	}
	s.values[u] = v
}
