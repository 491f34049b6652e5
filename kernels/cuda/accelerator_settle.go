package cuda

import (
	"errors"
	"slices"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// The end of a copy changes its entry, and the end of a call its operands:
//
//	endIn, endOut   a copy has ended
//	settle          a call has ended: operands, scratch memory and events are released
//	lose            the device is lost: all copies and calls under way end
//
// They call one another: a copy out that fails too often loses the device, which ends all other
// copies and calls.

// tellCopies calls onCopy for copies that have ended. Other goroutines may note more copies
// meanwhile, so it loops until there are none. The caller holds mu, which tellCopies unlocks while
// onCopy runs.
func (a *Accelerator) tellCopies() {
	for len(a.told) > 0 {
		told, f := a.told, a.onCopy
		a.told = nil
		if f == nil {
			return
		}
		a.mu.Unlock()
		for _, c := range told {
			f(c)
		}
		a.mu.Lock()
	}
}

// event returns an unused event, or a new one if there is none. So there are never more events than
// were in use at the same time. Each user records an event anew. The caller holds mu.
func (a *Accelerator) event() (Event, error) {
	if n := len(a.events); n > 0 {
		e := a.events[n-1]
		a.events = a.events[:n-1]
		return e, nil
	}
	return a.device.NewEvent()
}

// recycle takes back events that no goroutine or stream waits for. The caller holds mu.
func (a *Accelerator) recycle(events ...Event) {
	for _, e := range events {
		if e != nil {
			a.events = append(a.events, e)
		}
	}
}

// keep notes an error of a release, for Close to return. The error of a lost device is dropped.
func (a *Accelerator) keep(err error) {
	var d *DeviceError
	if err != nil && !(errors.As(err, &d) && d.Lost) {
		a.bad = append(a.bad, err)
	}
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

// giveBack releases the scratch memory of r. The caller holds mu.
func (a *Accelerator) giveBack(r *running) {
	for _, b := range r.blocks {
		b.of.release(b.b)
	}
	r.blocks = nil
	r.spare, r.spareEnd = 0, 0
}

// maxTries is how often a copy to the host is tried. Then the device is declared lost: a
// value that only the device has cannot be saved, and a call that waits for its room would
// wait for ever.
const maxTries = 3

// endIn concludes a copy in. If the copy failed, the entry has no contents. endIn frees its
// block unless a call holds it; that call finds the error in t. The caller holds mu.
func (a *Accelerator) endIn(t *transfer, err error) {
	e := t.e
	t.over, t.err = true, err
	a.moving--
	e.arriving = nil
	a.recycle(t.done)
	t.done = nil
	a.cache.endIn(e, err == nil)
	switch {
	case err == nil:
		a.stats.In += e.bytes()
		a.stats.Ins++
		a.tell(t, &a.in)
	case !e.busy():
		a.cache.drop(e)
	}
}

// endOut concludes a copy out. A failed copy leaves the entry modified, and the goroutine
// that wants the value begins another copy. The caller holds mu.
func (a *Accelerator) endOut(t *transfer, err error) {
	e := t.e
	a.moving--
	a.outs--
	a.cache.endOut(e, err == nil)
	if err == nil {
		e.tries = 0
		a.stats.Out += e.bytes()
		a.stats.Outs++
		a.tell(t, &a.out)
	} else if e.tries++; e.tries >= maxTries {
		a.lose(err)
	}
}
