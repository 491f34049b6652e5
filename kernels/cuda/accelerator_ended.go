package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// Nothing tells the host when work on the device has ended: it has to ask. A
// waiter polls, and does the books for everybody.
//
//	arriving ── done reached ──► endIn:  the entry is shared
//	flying   ── end reached ───► settle: what was written is modified, operands go
//	                             │
//	                             ├─► nothing, if the call had failed: Launch has said so
//	                             └─► over ── Ended ──► conclude, report
//
// A driver can call a function of the host instead, on a thread of its own; that
// would take the lock there, and must not call the driver.

// poll looks for what has ended on the device, and begins early copies. Calls and
// copies in are looked at one by one, as those on several streams end in any
// order. The caller holds mu.
//
// Copies come first: those that a call has waited for have then ended before settle
// looks at it. early comes last: what calls have let go can be written back.
//
// An error of an event is an error of the device: work before the event has failed,
// and nothing tells which. So it is given up.
func (a *Accelerator) poll() {
	if a.lost != nil {
		return
	}
	for i := 0; i < len(a.arriving); i++ {
		t := a.arriving[i]
		done, err := t.done.Done()
		if err != nil {
			a.lose(err)
			return
		}
		if done {
			a.arriving = slices.Delete(a.arriving, i, i+1)
			i--
			a.endIn(t, nil)
		}
	}
	for i := 0; i < len(a.flying); i++ {
		r := a.flying[i]
		done, err := r.end.Done()
		if err != nil {
			a.lose(err)
			return
		}
		if done {
			a.flying = slices.Delete(a.flying, i, i+1)
			i--
			a.settle(r)
		}
	}
	a.early()
}

// settle closes the books on a launch that has ended on the device, or never
// will. The caller holds mu. What an operand was before decides what it is after the
// call has written it:
//
//	before      the call went well    it failed
//	invalid     modified              invalid: the host has it
//	shared      modified              invalid: the host has it
//	modified    modified              modified: what the call left there
//
// If the device is lost states stay as they were.
//
// Then the launch lets its operands go,
// and gives back scratch memory and events. It keeps what Ended needs: pinned memory,
// in which results have arrived.
func (a *Accelerator) settle(r *running) {
	if r.err == nil && !r.failed {
		if err := a.clock(r); err != nil {
			a.lose(err)
			r.err = a.lost
		}
	}
	good := r.err == nil && !r.failed
	for _, u := range r.ops {
		e := u.e
		if t := u.in; t != nil && !t.over && a.lost == nil {
			// The call has waited for it on its stream: so it has ended, though poll
			// has not come to it.
			a.arriving = slices.DeleteFunc(a.arriving, func(o *transfer) bool { return o == t })
			a.endIn(t, nil)
		}
		if e.writer == r { // and not a later call
			e.writer = nil
		}
		e.readers = slices.DeleteFunc(e.readers, func(o *running) bool { return o == r })
		if u.how&versions.Writes != 0 && e.size > 0 {
			switch {
			case good:
				e.lost = false
				a.cache.wrote(e)
			case e.state == shared && a.lost == nil:
				// It may have been written in part; the host has it as it was. One
				// that was modified stays what it is: nobody has it as it was.
				e.state = invalid
			}
		}
		a.cache.release(e)
		// Room without contents is of use to nobody once no call is to write there.
		if e.state == invalid && e.block != nil && !e.busy() {
			a.cache.drop(e)
		}
	}
	a.giveBack(r)
	a.recycle(r.begin, r.end)
	r.begin, r.end = nil, nil
	if r.failed {
		a.unpin(r)
		return
	}
	a.over = append(a.over, r)
}

// clock sets when r ran, in the host's time: the device tells only how long after
// another event something was. Event.Since is in milliseconds, a time.Duration in
// nanoseconds. Of a launch that failed nobody asks. The caller holds mu.
func (a *Accelerator) clock(r *running) error {
	at, err := r.begin.Since(a.zero)
	if err != nil {
		return err
	}
	took, err := r.end.Since(r.begin)
	if err != nil {
		return err
	}
	r.began = a.since.Add(time.Duration(at * 1e6))
	r.busy = time.Duration(took * 1e6)
	return nil
}

// unpin gives pinned memory back that r was lent, when functions given to AtEnd have
// read it. The caller holds mu.
func (a *Accelerator) unpin(r *running) {
	for _, p := range r.pins {
		a.keep(a.pins.giveBack(p))
	}
	r.pins = nil
}

// early begins to write dirty tiles back when there is little room that could be
// had at once: a quarter of the memory. Those go first whose next use is farthest
// away. While nothing else is written, those go that seem to be finished, so that
// less is left for the end. The caller holds mu.
func (a *Accelerator) early() {
	c := a.cache
	// No more than two copies for each mover: what is begun cannot be taken back,
	// and would be in the way of one that somebody waits for.
	for a.lost == nil && a.outs < 2*a.opt.Movers {
		var e *entry
		if c.limit-c.arena.used+c.clean.bytes+c.leaving.bytes < c.limit/4 {
			e = c.tired()
		} else if a.outs < a.opt.Movers {
			e = c.finished()
		}
		if e == nil {
			return
		}
		a.stats.Early++
		a.startOut(e)
	}
}

// pause gives up mu for a moment, the longer the more often it was called before
// in vain (n times), and looks for what has ended. Everything may have changed when
// it returns: callers look again at what they wait for, and at lost.
//
// At first it only lets other goroutines run, since calls on small tiles are over
// soon. Then it sleeps 5 µs more each time, up to 200 µs: what lasts so long does
// not mind, and the cores are the CPU workers'.
func (a *Accelerator) pause(n int) {
	a.tellCopies()
	a.mu.Unlock()
	if n < 50 {
		runtime.Gosched()
	} else {
		time.Sleep(min(time.Duration(n-49)*5*time.Microsecond, 200*time.Microsecond))
	}
	a.mu.Lock()
	a.poll()
}

// Ended appends the launches that have ended since the last call to ended. If
// there are none it waits for the first at most for the given time, and no
// longer than until Wake.
//
// It is the worker's only wait, so it polls for all: copies and calls of which
// nobody else asks are concluded here. A launch that the loss of the device has
// ended is reported like others, with that as its error.
func (a *Accelerator) Ended(ended []*versions.Launch, wait time.Duration) []*versions.Launch {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.poll()
	if wait > 0 {
		until := time.Now().Add(wait)
		for n := 0; len(a.over) == 0 && !a.woken && time.Now().Before(until); n++ {
			// What is in flight can only be polled for. Without that nothing happens
			// but Wake, and a channel costs no processor.
			if len(a.flying) > 0 || n < 50 {
				a.pause(n)
				continue
			}
			a.mu.Unlock()
			timer := time.NewTimer(time.Until(until))
			select {
			case <-a.wake:
			case <-timer.C:
			}
			timer.Stop()
			a.mu.Lock()
			a.poll()
		}
		// One Wake ends one wait: the message goes with the flag.
		a.woken = false
		select {
		case <-a.wake:
		default:
		}
	}
	a.tellCopies()
	// Functions given to AtEnd are the versions': they run without the lock. Nobody
	// else knows of these calls any more.
	over := a.over
	a.over = nil
	for _, r := range over {
		a.mu.Unlock()
		for i := range r.launches {
			r.launches[i].Err = r.conclude(&r.queues[i])
		}
		a.mu.Lock()
		a.report(r)
		ended = append(ended, r.launches...)
	}
	return ended
}

// conclude calls what was given to AtEnd of q, and returns how its call has ended: r's
// error, or the first of those functions. A panic there is the call's, as it is on
// cores. The other functions run also after an error: each may have something to give
// back. The caller does not hold mu.
func (r *running) conclude(q *Queue) (err error) {
	if r.err != nil {
		return r.err
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("cuda: the end of a call panicked: %v", v)
		}
	}()
	for _, f := range q.atEnd {
		if e := f(); e != nil && err == nil {
			err = e
		}
	}
	return err
}

// report tells the launches how they have ended, apart from their errors. Of those that
// were one each gets its share, one after the other. Where the device was lost there
// are no times: Begin is zero. The caller holds mu.
func (a *Accelerator) report(r *running) {
	a.unpin(r)
	n := len(r.launches)
	share := r.busy / time.Duration(n)
	for i, l := range r.launches {
		l.Begin, l.Busy, l.Copied = r.began, share, r.copied/int64(n)
		if !r.began.IsZero() {
			l.Begin = r.began.Add(time.Duration(i) * share)
		}
		l.Call.Device = nil
	}
}

// Wake ends a wait in Ended, or the next one. It is called when there is a new task for
// the worker, and must not wait: the caller may hold a lock of the runtime.
func (a *Accelerator) Wake() {
	a.mu.Lock()
	a.woken = true
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// failed takes note of a device that is lost. Other errors are those of one call and
// stay with it. The caller holds mu.
func (a *Accelerator) failed(err error) {
	if d, ok := errors.AsType[*DeviceError](err); ok && d.Lost {
		a.lose(err)
	}
}

// lose gives the device up: calls in flight fail, values that only it had are
// lost. Events of a lost device may never be reached, so nothing is waited for; the
// driver has ended all work on it, as far as it was begun. What movers are at they
// conclude themselves: they find lost set. The caller holds mu.
func (a *Accelerator) lose(err error) {
	if a.lost != nil {
		return
	}
	var d *DeviceError
	if !errors.As(err, &d) || !d.Lost {
		d = &DeviceError{Device: a.opt.Name, Op: "lost", Reason: err.Error(), Lost: true}
		if is, ok := errors.AsType[*DeviceError](err); ok {
			d.Op, d.Stream, d.Code, d.Reason = is.Op, is.Stream, is.Code, is.Reason
		}
	}
	a.lost = d
	// What a call in flight was about to write is lost only if it was modified before:
	// settle leaves all states as they are now.
	for _, e := range a.cache.entries {
		if e.state == modified {
			e.lost = true
		}
	}
	flying := a.flying
	a.flying = nil
	for _, r := range flying {
		r.err = a.lost
		a.settle(r)
	}
	// Of transfers, those that no mover has taken, and those that poll would have ended.
	arriving := append(a.arriving, a.in.waiting...)
	a.arriving, a.in.waiting = nil, nil
	for _, t := range arriving {
		a.endIn(t, a.lost)
	}
	leaving := a.out.waiting
	a.out.waiting = nil
	for _, t := range leaving {
		a.endOut(t, a.lost)
	}
}
