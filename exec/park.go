package exec

import (
	"slices"
	"time"
)

// park lists the workers on cores that have nothing to do:
//
//	at work ──► spinning ──► (one) lingering ──► asleep
//	   ▲            │             │                │ rise, and a token in wake
//	   └────────────┴─────────────┴──── spinning ◄─┘
//
// A worker looks for work once more in the critical section in which it joins the list of sleepers.
// A goroutine that brings work publishes it first and takes the lock then. So one of the two sees
// the other. The scheduler's lock guards all fields.
type park struct {
	parked   []*seat // asleep, the last one to sleep at the end
	spinning int     // workers that look for work, or have been woken to do so
	// lingering is the spinning worker that looks for longer, if any.
	lingering *seat
	guests    int // goroutines that use the seats of sleeping workers
}

// rise takes the worker that went to sleep last among those for which fits is true off the list,
// and counts it as spinning. The caller rouses it. rise returns nil if none fits.
func (p *park) rise(fits func(*seat) bool) *seat {
	for i := len(p.parked) - 1; i >= 0; i-- {
		if w := p.parked[i]; fits(w) {
			p.parked = slices.Delete(p.parked, i, i+1)
			p.spinning++
			return w
		}
	}
	return nil
}

// anyone, for rise, fits every worker.
func anyone(*seat) bool { return true }

// spins is how often an idle worker looks at queued before it goes to sleep:
// some ten microseconds, about what waking a thread costs.
const spins = 300

// lingers is how long a lingering worker looks for a task: a few times what waking a thread costs.
const lingers = 200 * time.Microsecond

// pause lets some tens of nanoseconds pass without touching memory that
// others write.
//
//go:noinline
func pause() {
	for range 64 {
	}
}
