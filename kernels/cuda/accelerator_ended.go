package cuda

import (
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
// For the first yields times it only yields to other goroutines, since calls on small tiles
// end soon. Then it sleeps sleepStep longer each time, up to sleepMost. That makes a long
// wait little longer, and the cores belong to the CPU workers.
func (a *Accelerator) pause(n int) {
	a.tellCopies()
	a.mu.Unlock()
	if n < yields {
		runtime.Gosched()
	} else {
		time.Sleep(min(time.Duration(n-yields+1)*sleepStep, sleepMost))
	}
	a.mu.Lock()
	a.poll()
}

// The waits of pause.
const (
	yields    = 50
	sleepStep = 5 * time.Microsecond
	sleepMost = 200 * time.Microsecond
)

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
			if len(a.flying) > 0 || n < yields {
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
