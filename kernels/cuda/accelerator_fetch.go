package cuda

import (
	"slices"

	"github.com/tessera-la/tessera/versions"
)

// The runtime calls these methods between calls: Prefetch before it launches a call
// here, Fetch before the host uses a value, and Flush at the end of a job. What stays
// after that is in accelerator_retain.go.
//
// The worker prefetches. Any goroutine may fetch: a worker on cores before it runs a
// task, the worker of another accelerator before it copies the value in, and the program
// in WaitOn. Several goroutines may want the same value at once. Each polls and checks the
// entry again: there is no list of waiters.

// Prefetch begins to copy in values that a call will soon read. It keeps values that are
// there already from being evicted soon. It evicts nothing that is expected to be used
// again, and does not wait.
func (a *Accelerator) Prefetch(values []any, job uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.tellCopies()
	if a.lost != nil || a.closed {
		return
	}
	a.poll()
	c := a.cache
	for _, v := range values {
		s, ok := v.(versions.Stored)
		if !ok {
			continue
		}
		if size := deviceSize(s.Memory()); size == 0 || size > c.limit {
			continue
		}
		e := c.entryFor(s, job)
		// This protects e from eviction for a while, also if it is there already.
		e.wanted = max(c.now, 1)
		if e.state != invalid || e.in || e.holds > 0 || e.lost {
			continue
		}
		// The place is cold: a prefetch is a guess, and evicts nothing that is expected
		// to be used again. It also drops errors of the device. The call that needs the
		// value meets them again.
		if e.block == nil {
			if a.grow(e.size) != nil {
				return
			}
			if ok, _ := c.place(e, true); !ok {
				e.wanted = 0
				continue
			}
		}
		a.startIn(e)
	}
}

// Fetch prepares a value for a use by the host. If the host reads the value and only the
// device has it, Fetch copies it back. If the host writes the value, Fetch drops the
// device's copy. The error is a *[LostError].
func (a *Accelerator) Fetch(value any, how versions.Use) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.tellCopies()
	e := a.find(value)
	if e == nil {
		return nil
	}
	return a.fetch(e, how)
}

// fetch is Fetch for an entry. The caller holds mu, which fetch unlocks while it waits.
// It waits for
//
//	a copy out under way      for any use: the copy writes the host's memory
//	a copy in under way       if the host will write: the copy reads the host's memory
//	a call that writes        for any use: the value is not there yet
//	a call that reads         if the host will write: the device's copy is dropped
//
// Then it decides by the state of the entry, and starts over if it has begun a copy.
func (a *Accelerator) fetch(e *entry, how versions.Use) error {
	reads, writes := how&versions.Reads != 0, how&versions.Writes != 0
	for n := 0; ; n++ {
		// A copy under way uses the host's memory, and calls in flight use the
		// device's. The order of tasks should let none of them conflict with this use.
		moves := e.out || writes && e.in
		uses := a.lost == nil && (e.writer != nil || writes && e.holds > 0)
		switch {
		case moves || uses:
			a.in.hurry(e)
			a.out.hurry(e)
		case e.lost:
			// A lost value stays lost until the host or a call overwrites all of it.
			if reads {
				return &LostError{Device: a.opt.Name, Err: a.lost}
			}
			if writes {
				e.lost = false
				a.giveUp(e)
			}
			return nil
		case reads && e.state == modified:
			a.startOut(e)
			a.out.hurry(e)
		default:
			if writes {
				a.giveUp(e)
			}
			return nil
		}
		a.pause(n)
	}
}

// giveUp drops the device's copy of e, if nothing uses it. The caller holds mu.
func (a *Accelerator) giveUp(e *entry) {
	if !e.busy() {
		a.cache.drop(e)
	}
}

// forget drops e and the device's copy, unless somebody uses or retains it. The caller holds mu.
func (a *Accelerator) forget(e *entry) {
	a.giveUp(e)
	if e.block == nil && e.retained == 0 {
		delete(a.cache.entries, e.key)
	}
}

// Flush fetches all values that calls of a job have used, and drops the device's copies,
// except those that calls of another job are using, and those of retained values. It also
// removes the entries of these values, except those that another job has used as well. The
// error is a *[LostError] if a value is lost. Flush removes the entries of lost values, too.
func (a *Accelerator) Flush(job uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.tellCopies()
	// All copies begin before Flush waits for the first.
	var mine []*entry
	for _, e := range a.cache.entries {
		if slices.Contains(e.jobs, job) {
			mine = append(mine, e)
			if e.state == modified && !e.busy() && a.lost == nil {
				a.startOut(e)
			}
		}
	}
	var first error
	for _, e := range mine {
		if err := a.fetch(e, versions.Reads); err != nil && first == nil {
			first = err
		}
		// If another job begins to use e, that job decides what happens to it.
		for n := 0; len(e.jobs) == 1 && (e.in || a.lost == nil && e.holds > 0); n++ {
			a.pause(n)
		}
		others := len(e.jobs) > 1
		e.jobs = slices.DeleteFunc(e.jobs, func(j uint64) bool { return j == job })
		// While fetch waited, another job may have begun to use e, and have written it.
		if others && e.state == modified {
			continue
		}
		if !others {
			e.lost = false
		}
		switch {
		case e.retained > 0 && e.state == shared: // the device's copy stays
		case others:
			a.giveUp(e)
		default:
			a.forget(e)
		}
	}
	return first
}
