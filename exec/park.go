package exec

import "slices"

// park is where workers on cores are that have nothing to do:
//
//	at work ──► spinning ──► (one) lingering ──► asleep
//	   ▲            │             │                │ rise, and a token in wake
//	   └────────────┴─────────────┴──── spinning ◄─┘
//
// Who goes to sleep looks under the scheduler's lock, in the critical section in which
// it is put on the list; who has something for it puts that where it is seen first and
// takes the lock then. So one of the two sees the other. The lock guards all of this.
type park struct {
	parked   []*seat // asleep, the latest last
	spinning int     // workers that look for work, or are roused to do so
	// lingering is the one of the spinning workers that looks for longer, if any.
	lingering *seat
	guests    int // goroutines in the places of workers that sleep
}

// rise takes the worker off the list that went to sleep last of those that fit, nil if
// there is none. It counts as spinning, and has to be roused.
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

// anyone is for rise: the worker that went to sleep last.
func anyone(*seat) bool { return true }

// spins is how often an idle worker looks at queued before it goes to sleep:
// some ten microseconds, about what waking a thread costs.
const spins = 300

// pause lets some tens of nanoseconds pass without touching memory that
// others write.
//
//go:noinline
func pause() {
	for range 64 {
	}
}
