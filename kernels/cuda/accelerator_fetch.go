package cuda

import (
	"slices"

	"github.com/tessera-la/tessera/versions"
)

// What the runtime asks for between calls: Prefetch before a call is launched here,
// Fetch before the host uses a value, Flush at the end of a job.
//
// The worker prefetches. Any goroutine fetches: a worker on cores before it runs a
// task, another accelerator's before it copies the value in, the program in WaitOn.
// Several may want one value at once. Each polls and looks at the entry again: there
// is no list of waiters.

// Prefetch begins to copy values in that a call will soon read. A value that is
// there already is not given up soon. It takes no room from anything that is
// expected to be used again, and does not wait.
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
		e := c.entry(s, job)
		// From now on it is not given up for others, though it may be there already.
		e.wanted = max(c.now, 1)
		if e.state != invalid || e.in || e.holds > 0 || e.lost {
			continue
		}
		// A cold place: of what is used again, nothing is evicted for a guess. An
		// error of the device is left to the call that needs it: this is only a hint.
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

// Fetch prepares a value for a use by the host: what it reads is copied back if
// only the device has it, and of what it writes the device's copy is given up.
// The error is a *[LostError].
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

// fetch is Fetch for an entry. The caller holds mu, which is given up while it
// waits:
//
//	a copy out under way      for any use: it reads what others may write, and its
//	                          memory is the host's
//	a copy in under way       if the host will write: it reads the host's memory
//	a call that writes        for any use: the value is not there yet
//	a call that reads         if the host will write: the device's copy goes
//
// Then it decides by the state of the entry, and starts over if it has begun a copy.
func (a *Accelerator) fetch(e *entry, how versions.Use) error {
	reads, writes := how&versions.Reads != 0, how&versions.Writes != 0
	for n := 0; ; n++ {
		// A copy that is under way reads or writes the host's memory, and calls in
		// flight use the device's, though the order of tasks lets none be in the way.
		moves := e.out || writes && e.in
		uses := a.lost == nil && (e.writer != nil || writes && e.holds > 0)
		switch {
		case moves || uses:
			a.in.hurry(e)
			a.out.hurry(e)
		case e.lost:
			// Lost values stay lost until somebody writes them as a whole.
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

// giveUp gives up the device's copy of e, if nobody uses it. The caller holds mu.
func (a *Accelerator) giveUp(e *entry) {
	if !e.busy() {
		a.cache.drop(e)
	}
}

// Flush fetches all values that calls of a job have used, and gives up the device's
// copies, but for what calls of another job use just now. The error is a *[LostError]
// if a value is lost; then it is forgotten like the others, unless another job has used
// it as well. When it returns, no job has to know of those values any more: their
// entries are gone, unless another job has used them too.
func (a *Accelerator) Flush(job uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.tellCopies()
	// All copies are begun before the first is waited for.
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
		// Another job may begin to use it, and then what becomes of it is that one's.
		for n := 0; len(e.jobs) == 1 && (e.in || a.lost == nil && e.holds > 0); n++ {
			a.pause(n)
		}
		others := len(e.jobs) > 1
		e.jobs = slices.DeleteFunc(e.jobs, func(j uint64) bool { return j == job })
		// While fetch waited another job may have come to use it, and written it.
		if others && e.state == modified {
			continue
		}
		if !others {
			e.lost = false
		}
		a.giveUp(e)
		if !others && e.block == nil {
			delete(a.cache.entries, e.key)
		}
	}
	return first
}
