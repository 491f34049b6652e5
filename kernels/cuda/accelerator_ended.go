package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// The host has to ask whether work on the device has ended. Any goroutine that waits
// polls, and concludes the work of all others as well.
//
//	arriving ── done reached ──► endIn:  the entry is shared
//	flying   ── end reached ───► settle: written values are modified, operands released
//	                             │
//	                             ├─► nothing, if the call had failed: Launch has said so
//	                             └─► over ── Ended ──► conclude, report
//
// A driver can instead call a function of the host on a thread of its own. That function
// would need mu on that thread, and must not call the driver.

// poll concludes the copies in and the calls that have ended on the device, and begins
// early copies out. It checks each of them, since those on several streams end in any
// order. The caller holds mu.
//
// Copies come first, so that the copies for which a call has waited have ended before
// settle gets the call. early comes last, as it can write back operands that these calls
// have released.
//
// If an event returns an error, some work before it has failed, and the driver does not
// say which. So poll declares the device lost.
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

// settle concludes a launch whose work on the device has ended, or will never end because
// the device is lost. The caller holds mu. The state of a written operand becomes:
//
//	before      after success    after a failure
//	invalid     modified         invalid: the host's copy is valid
//	shared      modified         invalid: the host's copy is valid
//	modified    modified         modified: with what the call left there
//
// If the device is lost, states stay as they were.
//
// settle then releases the operands, scratch memory and events of the launch. The pinned
// memory stays until Ended has read the results in it.
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
			// The call's stream has waited for this copy, so the copy has ended. poll
			// has not seen that yet.
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
				// The device's copy may be partly overwritten. The host has the value
				// of before. A modified entry stays modified: no valid copy is left.
				e.state = invalid
			}
		}
		a.cache.release(e)
		// A block without contents is useless unless a call will write to it.
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

// clock sets when r began and how long it ran, in the host's time. A device tells only
// the time between two events, so clock counts from the event zero. Event.Since is in
// milliseconds, a time.Duration in nanoseconds. The caller holds mu.
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

// unpin returns the pinned memory of r. The functions given to AtEnd have read it by
// then. The caller holds mu.
func (a *Accelerator) unpin(r *running) {
	for _, p := range r.pins {
		a.keep(a.pins.giveBack(p))
	}
	r.pins = nil
}

// early begins to write dirty tiles back. If the room that is available at once is less
// than a quarter of the limit, it takes the tiles whose next use is farthest away.
// Otherwise, while movers would be idle, it takes tiles that seem to be finished, so that
// less is left for the end. The caller holds mu.
func (a *Accelerator) early() {
	c := a.cache
	// At most two copies for each mover: a copy that has begun cannot be cancelled, and
	// would delay one for which a goroutine waits.
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

// pause unlocks mu, yields or sleeps, locks mu again and polls. n is how often the caller
// has paused in this wait. Any state may have changed when pause returns: callers check
// their condition and lost again.
//
// For the first 50 times it only yields to other goroutines, since calls on small tiles
// end soon. Then it sleeps 5 µs more each time, up to 200 µs. A long wait gets little
// longer by that, and the cores belong to the CPU workers.
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

// Ended appends to ended the launches that have ended since its last call. If there are
// none, it waits for the first one, for at most the time wait or until Wake.
//
// Ended is the worker's only wait, so it polls also for copies and calls for which no
// other goroutine waits. If the loss of the device has ended a launch, Ended appends the
// launch with that error.
func (a *Accelerator) Ended(ended []*versions.Launch, wait time.Duration) []*versions.Launch {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.poll()
	if wait > 0 {
		until := time.Now().Add(wait)
		for n := 0; len(a.over) == 0 && !a.woken && time.Now().Before(until); n++ {
			// Calls in flight must be polled for. Without them only Wake can end the
			// wait, and waiting for a channel takes no processor time.
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
		// One Wake ends one wait, so the message is removed with the flag.
		a.woken = false
		select {
		case <-a.wake:
		default:
		}
	}
	a.tellCopies()
	// Functions given to AtEnd belong to the versions, and run without mu. No other
	// goroutine has a reference to these calls any more.
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

// conclude calls the functions that were given to AtEnd of q. It returns the error of its
// call: r's error, in which case it calls nothing, or the first error of the functions. A
// panic of a function becomes the call's error, as on cores. After an error the others
// still run, since each may have something to release. The caller does not hold mu.
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

// report sets the times and copied bytes of r's launches. The launches of a batch get
// equal shares, one after the other. If the device was lost there are no times, and Begin
// is zero. The caller holds mu.
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

// Wake ends the present wait in Ended, or the next one. The runtime calls it when there
// is a new task for the worker. The caller may hold a lock of the runtime, so Wake waits
// for no work.
func (a *Accelerator) Wake() {
	a.mu.Lock()
	a.woken = true
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// failed declares the device lost if err says that it is. Other errors concern one call
// only. The caller holds mu.
func (a *Accelerator) failed(err error) {
	if d, ok := errors.AsType[*DeviceError](err); ok && d.Lost {
		a.lose(err)
	}
}

// lose declares the device lost. Calls in flight fail, and values that only the device
// had are lost. lose waits for no event, since a lost device may never reach it; the
// driver has ended all work that had begun. Movers find lost set, and conclude the
// transfers that they have taken. The caller holds mu.
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
	// A value that a call in flight was about to write is lost only if it is modified
	// now: settle leaves all states as they are.
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
	// These are the transfers that no mover has taken, and those that poll would have ended.
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
