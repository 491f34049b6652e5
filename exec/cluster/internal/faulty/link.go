package faulty

import "time"

// serve passes messages to the handler when they have arrived and while the path is open, until the
// link has ended.
func (l *link) serve() {
	for {
		select {
		case p := <-l.queue:
			if !l.wait(time.Until(p.due)) || !l.passes() {
				return
			}
			l.to.handle(l.from.Self(), p.message)
		case <-l.dropped:
			return
		case <-l.to.ended:
			return
		}
	}
}

// wait waits for a time, and reports whether the link has not ended.
//
// A message that is due gets no timer: under the race detector, Go 1.26 crashes now and then where
// two goroutines of one synctest bubble run timers, and a goroutine runs the one it waits for if
// that is due.
func (l *link) wait(d time.Duration) bool {
	if d <= 0 {
		return !l.hasEnded()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.dropped:
	case <-l.to.ended:
	}
	return false
}

// passes waits until the path is open, and reports whether the link has not ended.
func (l *link) passes() bool {
	n := l.to.net
	for {
		n.mu.Lock()
		open, changed := l.from == l.to || n.open(l.from.Self(), l.to.Self()), n.changed
		n.mu.Unlock()
		if !open {
			select {
			case <-changed:
				continue
			case <-l.dropped:
			case <-l.to.ended:
			}
			return false
		}
		return !l.hasEnded()
	}
}

// hasEnded reports whether the link has ended: its messages were dropped, or the receiver has ended.
func (l *link) hasEnded() bool {
	select {
	case <-l.dropped:
		return true
	case <-l.to.ended:
		return true
	default:
		return false
	}
}
