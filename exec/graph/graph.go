package graph

import (
	"sync/atomic"
	"time"
)

// How tasks find out that they may run. Add, on one goroutine, and End and Give, on
// any number of them, meet in three atomic words, and for uncommon accesses under
// the lock of groups:
//
//	version.waiters   the uses that wait for the version, the latest first;
//	                  produced or broken once it is there
//	version.ended     minus the readers that have ended; the next writer, when
//	                  Add has found it, adds how many there were
//	Task.pending      minus the events that have happened; Add, when it has
//	                  looked at all operands, adds how many it waits for
//
// Waiters are pushed by compare-and-swap, and taken all at once by the swap that
// says that the version is there. Who comes later sees that in the head of the
// list: so each waiter is told once. The other two words are 0 after an operation
// only if that was the last of all: for ended that all readers have ended and that
// the next writer is known, for pending that everything awaited has happened and
// that Add is through with the task. The code that sees it goes on with the version, or
// has the task. As events may come before Add has counted them, both words can be
// below 0 until then.
//
// Go's atomic operations are in one order that all goroutines agree on, and order
// what is before and after them. So plain fields need no more: version.next is
// written before the addition that can let a reader see 0, and what a task has done
// is there for all that its End releases.
//
// Add costs O(operands), End O(operands + tasks that wait for what it has made),
// however many tasks there are.

// Error is the type of the constants that this package panics with.
type Error string

func (e Error) Error() string { return string(e) }

// Misuse of [Graph.Give], and what is wrong with a [Spec].
const (
	ErrNoOp    Error = "graph: task without an op"
	ErrNoDatum Error = "graph: operand without a datum"
	ErrMode    Error = "graph: no such access mode, REDUCE without a Reduction, or COMMUTE and REDUCE at once"
	ErrOperand Error = "graph: no such operand"
	ErrGiven   Error = "graph: the task has finished with the operand before"
)

// Graph infers dependencies among the tasks added to it. The zero value is an
// empty graph. Its fields are of three kinds, on cache lines of their own: what is only
// read once tasks run; what the goroutine writes that adds tasks; and the list onto
// which everybody pushes.
type Graph struct {
	_ [64]byte // what comes next is read only, but often

	// Owner is for the code that runs the graph; the package does not use it.
	Owner any
	// Observer, if not nil, is told of every edge. It costs memory and time;
	// set it before the first Add.
	Observer Observer
	// Log, if not nil, notes what the edges follow from, for less; set it before the
	// first Add.
	Log *Log
	// Pool, if not nil, is where memory for tasks comes from and where
	// [Graph.Release] puts it.
	Pool *Pool
	// Clock, if not nil, gives each task the time at which it was added: see
	// [Task.Added].
	Clock func() time.Duration

	// Failed, if not nil, is told when a function of the program has panicked:
	// what is "reduction" for a Reduction's Combine, "renaming" for what
	// SetRenaming was given.
	Failed func(what string, f *Fault)

	_         [64]byte
	past      past       // for the Observer
	numbering *numbering // of data, if there is an Observer or a Log
	groups    groups
	replaced  []*Datum // whose value is another one than their own: see PutBack

	last TaskID
	free *Task // tasks to reuse, Add's

	_     [64]byte
	ended atomic.Pointer[Task] // tasks to reuse, from End
	_     [56]byte
}

// Len returns the number of tasks added.
func (g *Graph) Len() int { return int(g.last) }

// Add appends a task to the program. It returns the task and whether it is
// ready: then nothing else will say so, and the caller must see to its
// execution; otherwise it comes out of the [Graph.End] of the last task that
// it waits for.
//
// The caller has checked the spec: see [Spec.Check].
func (g *Graph) Add(s *Spec) (t *Task, ready bool) { return g.add(s, false) }

// AddPlain is [Graph.Add] for a spec that was plain when it was checked: see
// [Spec.Plain]. It calls no function of the program.
func (g *Graph) AddPlain(s *Spec) (t *Task, ready bool) { return g.add(s, true) }

// AddReady is [Graph.Add] for a task that waits for nothing, and for which nothing waits: while it
// is there no other task uses its data, none of which are renamed or reduced. Nothing is inferred.
func (g *Graph) AddReady(s *Spec) *Task {
	t := g.fresh(s)
	t.alone, t.refs = true, 1
	if g.Observer != nil || g.Log != nil {
		g.observe(t)
	}
	t.settle(0)
	t.ready = t.added
	return t
}

// fresh returns a task with what the spec says, of which nobody else knows.
func (g *Graph) fresh(s *Spec) *Task {
	g.last++
	t := g.newTask(len(s.Operands))
	t.id = g.last
	t.Op, t.Params, t.Priority = s.Op, s.Params, s.Priority
	if s.Failure != nil || s.Local != nil || s.Constraints != nil || s.Witness != nil {
		if t.aside == nil {
			t.aside = &aside{}
		}
		t.aside.failure, t.aside.local, t.aside.constraints, t.aside.witness = s.Failure, s.Local, s.Constraints, s.Witness
	}
	if g.Clock != nil {
		t.added = g.Clock()
	}
	// The uses have to be whole before the first of them is on a list of waiters: from
	// then on other goroutines look at it.
	for i := range s.Operands {
		t.uses[i].begin(t, s.Operands[i])
	}
	join(t.uses)
	return t
}

func (g *Graph) add(s *Spec, plain bool) (t *Task, ready bool) {
	t = g.fresh(s)
	writes, await := int32(0), int32(0)
	for i := range t.uses {
		u := &t.uses[i]
		switch {
		case u.mode == 0:
		case !plain && (u.mode > InOut || u.datum.special != nil):
			a, w := g.special(t, u)
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
	// The task's own life is one reference; each version it makes is another.
	// Nobody can drop one before the task has run.
	t.refs = 1 + writes
	ready = t.settle(await)
	// Nothing is missing; a member of Commute groups may have to wait for its turn. If
	// it does, endMember hands it out.
	if ready && t.special {
		ready = len(g.enter(t, nil)) == 1
	}
	if ready && g.Clock != nil {
		t.ready = g.Clock()
	}
	return t, ready
}

// settle adds the number of events awaited to minus those that have happened, and
// reports whether that is all of them. If it is not, the task belongs to those that it
// waits for, and Add must not touch it again.
func (t *Task) settle(await int32) bool {
	if await != 0 && t.pending.Add(await) != 0 {
		return false
	}
	if !t.special {
		t.state = uint8(Ready)
	}
	return true
}

// read makes u a reader of the latest version and returns the number of events to wait
// for. The number of readers is the datum's, where only Add writes: what workers count
// is how many have ended.
func (g *Graph) read(t *Task, u *use) int32 {
	v := u.datum.latest()
	u.in = v
	u.datum.reads++
	if u.datum.number&1 != 0 { // it saves a look at what workers write
		return 0
	}
	if v.waiters.Load() == produced {
		u.datum.number |= 1
		return 0
	}
	return t.await(u, v)
}

// write makes u the maker of the next version and returns the number of events to wait
// for. With v the version before, these are
//
//	v has no readers    v is there
//	v has readers       v is there, if that has not been seen; and they have all ended
//
// In the first case v may go as soon as it is there, and endWrite drops it (lone). In
// the second, the side that brings v.ended to 0 does: this, or the last reader.
func (g *Graph) write(t *Task, u *use) int32 {
	v := u.datum.latest()
	reads, there := u.datum.reads, u.datum.number&1 != 0
	u.datum.advance(&u.out)

	// New readers of v come only from Add, and there are none any more.
	if reads == 0 {
		u.lone = true
		if t.await(u, v) == 1 {
			return 1
		}
		g.drop(v)
		return 0
	}
	n := int32(0)
	if !there {
		n = t.await(u, v)
	}
	v.next = u
	if v.ended.Add(reads) == 0 {
		v.next = nil
		g.drop(v)
		return n
	}
	return n + 1
}

// await puts u on the list of those who wait for v and returns 1, or returns 0 if v is
// there. A broken version counts as there. It taints a task that reads it, and not one
// that overwrites it.
func (t *Task) await(u *use, v *version) int32 {
	for {
		head := v.waiters.Load()
		if head == produced {
			return 0
		}
		if head == broken {
			if u.mode&In != 0 {
				t.taint(v.task.Tainted())
			}
			return 0
		}
		u.waiter = head
		if v.waiters.CompareAndSwap(head, u) {
			return 1
		}
	}
}

// taint notes a tainted input. Of several the fault of the smallest task stands,
// whichever came first. So a job reports the same fault whatever its tasks' timing was.
func (t *Task) taint(f *Fault) { smallest(&t.tainted, f) }

// smallest stores f unless the fault of a smaller task is there.
func smallest(p *atomic.Pointer[Fault], f *Fault) {
	for {
		old := p.Load()
		if (old != nil && old.Task <= f.Task) || p.CompareAndSwap(old, f) {
			return
		}
	}
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

// Plain reports whether the operands are accessed in the common modes only, and
// none of their data is renamed, reduced or commuted on, nor has the task a Local, Constraints or a Witness.
func (s *Spec) Plain() bool {
	if s.Local != nil || s.Constraints != nil || s.Witness != nil {
		return false
	}
	for i := range s.Operands {
		if o := &s.Operands[i]; o.Mode > InOut || o.Datum.special != nil {
			return false
		}
	}
	return true
}

// clashes reports whether another operand has o's datum in the other uncommon
// mode.
func (s *Spec) clashes(o Operand) bool {
	for _, x := range s.Operands {
		if x.Datum == o.Datum && !(x.Mode | o.Mode).valid() {
			return true
		}
	}
	return false
}

// join merges operands on the same datum into the first of them. Those that were merged
// keep their place, with mode 0, and see the datum through the first. Beyond eight
// operands a map is faster than to compare all pairs.
func join(uses []use) {
	if len(uses) <= 8 {
		for i := 1; i < len(uses); i++ {
			for k := range i {
				if uses[k].datum == uses[i].datum {
					uses[k].merge(&uses[i])
					break
				}
			}
		}
		return
	}
	first := make(map[*Datum]int, len(uses))
	for i := range uses {
		if k, ok := first[uses[i].datum]; ok {
			uses[k].merge(&uses[i])
		} else {
			first[uses[i].datum] = i
		}
	}
}

// merge makes v part of u, which is on the same datum.
func (u *use) merge(v *use) {
	u.mode |= v.mode
	v.mode = 0
}

// begin makes u, which may be of an ended task, the use of o by t. It clears what the
// last task has left there. Nobody else looks at it yet.
func (u *use) begin(t *Task, o Operand) {
	u.datum, u.mode, u.special, u.lone = o.Datum, o.Mode, false, false
	u.given = atomic.Bool{}
	u.out.task = t
	u.out.waiters = atomic.Pointer[use]{}
	u.out.ended = atomic.Int32{}
}

// Watch waits for a datum's version without being a task of the program.
type Watch struct {
	// Done is called once, by the code that runs the graph, when the version is
	// there; fault says whether it is tainted.
	Done func(fault *Fault)
}

// AddWatch adds a Watch on the latest version of d, under the same rules as
// Add. The task it returns has no op: when it is ready, the runtime calls its
// Done instead of executing it, and then [Graph.End].
func (g *Graph) AddWatch(d *Datum, w *Watch) (t *Task, ready bool) {
	if d == nil {
		panic(ErrNoDatum)
	}
	if d.special != nil {
		g.seal(d.special)
	}
	t = &Task{graph: g, odd: true, Params: w}
	t.fit(1)
	u := &t.uses[0]
	u.begin(t, Operand{d, In})
	t.refs = 1
	v := d.latest()
	u.in = v
	d.reads++
	return t, t.settle(t.await(u, v))
}
