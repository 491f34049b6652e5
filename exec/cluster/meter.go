package cluster

import (
	"sync"
	"time"
)

// meter takes the times of a node's workers: in tasks, and without one while a task waits for
// operands to come.
type meter struct {
	workers int

	mu       sync.Mutex // a leaf
	last     time.Time
	waiting  int // tasks whose operands are not there
	running  int // that the runtime has
	busy     time.Duration
	starving time.Duration
}

// change notes that so many more tasks wait, and run, than before; less than 0 are fewer.
func (m *meter) change(waiting, running int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(time.Now())
	m.waiting += waiting
	m.running += running
}

// advance adds the time since the last change. The caller holds mu.
func (m *meter) advance(now time.Time) {
	if !m.last.IsZero() {
		passed := now.Sub(m.last)
		busy := min(m.running, m.workers)
		m.busy += time.Duration(busy) * passed
		m.starving += time.Duration(min(m.workers-busy, m.waiting)) * passed
	}
	m.last = now
}

// times returns the workers' time in tasks, and without one while tasks waited for operands.
func (m *meter) times() (busy, starving time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(time.Now())
	return m.busy, m.starving
}
