package graph

import "sync/atomic"

// How a task becomes ready. Add, on one goroutine, and End and Give, on any number of goroutines,
// meet in three atomic words (and, for uncommon accesses, under the lock of groups):
//
//	version.waiters   the uses that wait for the version, the latest first;
//	                  produced or broken once it is there
//	version.ended     minus the readers that have ended; when Add has found
//	                  the next writer, it adds the number of readers
//	Task.pending      minus the events that have happened; when Add has looked
//	                  at all operands, it adds the number of awaited events
//
// Waiters are pushed by compare-and-swap. The swap that closes the list, because the version is
// there, takes all of them at once. A later use sees the closed list. So each waiter is released
// once. The other two words are 0 after an operation only if that operation was the last one: for
// ended, all readers have ended and the next writer is known; for pending, all awaited events have
// happened and Add is through with the task. The code that sees 0 goes on with the version, or owns
// the task. Events may come before Add has counted them, so both words can be below 0 until then.
//
// Go's atomic operations are sequentially consistent and order the plain accesses around them. So
// plain fields suffice for the rest: version.next is written before the addition that can let a
// reader see 0, and the results of a task are visible to all tasks that its End releases.
//
// Add costs O(operands), and End O(operands + tasks that wait for its results), however many tasks
// the graph has.

// read makes u a reader of the latest version and returns the number of events to wait for. Only
// Add counts the readers, in the datum; workers count those that have ended.
func (g *Graph) read(t *Task, u *use) int32 {
	v := u.datum.latest()
	u.in = v
	u.datum.reads++
	if u.datum.number&1 != 0 { // known to be there: do not read the workers' cache line
		return 0
	}
	if v.waiters.Load() == produced {
		u.datum.number |= 1
		return 0
	}
	return t.await(u, v)
}

// write makes u the maker of the next version and returns the number of events to wait for. With v
// the previous version, these are
//
//	v has no readers    v is there
//	v has readers       v is there, if that has not been seen; and they have all ended
//
// In the first case v may be dropped as soon as it is there, and endWrite does so (lone). In the
// second, the side that brings v.ended to 0 drops it: this one, or the last reader.
func (g *Graph) write(t *Task, u *use) int32 {
	v := u.datum.latest()
	reads, there := u.datum.reads, u.datum.number&1 != 0
	u.datum.advance(&u.out)

	// Only Add adds readers of v, and it adds none after this.
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

// await puts u on v's list of waiters and returns 1, or returns 0 if v is there. A broken version
// counts as there: it taints a task that reads it, but not one that overwrites it.
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

// settle adds the number of awaited events to pending, and reports whether all have happened. If
// not, the task belongs to the tasks that it waits for, and Add must not touch it again.
func (t *Task) settle(await int32) bool {
	if await != 0 && t.pending.Add(await) != 0 {
		return false
	}
	if !t.special {
		t.state = uint8(Ready)
	}
	return true
}

// taint notes the fault of an input. The fault of the smallest task stays, whichever came first, so
// that a job reports the same fault whatever the timing.
func (t *Task) taint(f *Fault) { storeSmallest(&t.tainted, f) }

// storeSmallest stores f unless p holds the fault of a smaller task.
func storeSmallest(p *atomic.Pointer[Fault], f *Fault) {
	for {
		old := p.Load()
		if (old != nil && old.Task <= f.Task) || p.CompareAndSwap(old, f) {
			return
		}
	}
}

// join merges operands on the same datum into the first of them. The others keep their place with
// mode 0 and see the datum through the first. Beyond eight operands a map is faster than comparing
// all pairs.
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

// merge joins v, which is on the same datum, to u.
func (u *use) merge(v *use) {
	u.mode |= v.mode
	v.mode = 0
}

// begin makes u the use of o by t, and clears what an ended task has left in it. No other goroutine
// reads it yet.
func (u *use) begin(t *Task, o Operand) {
	u.datum, u.mode, u.special, u.lone = o.Datum, o.Mode, false, false
	u.given = atomic.Bool{}
	u.out.task = t
	u.out.waiters = atomic.Pointer[use]{}
	u.out.ended = atomic.Int32{}
}
