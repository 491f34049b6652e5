package cluster

import "sync"

// member is a rank of a group on its node.
//
//	it can begin ─► it waits for an order ─► it runs ─► Failed is closed, if another rank has failed
//	                        └─► it goes back
type member struct {
	mu      sync.Mutex // a leaf
	begun   bool       // it was told to begin
	stopped bool       // it was told to stop, or the job has ended
	waits   bool       // it can begin, and was told nothing
	failed  chan struct{}
}

func newMember() *member { return &member{failed: make(chan struct{})} }

// arrive notes that the rank can begin. It reports whether it begins at once, and otherwise whether it waits.
func (m *member) arrive() (begins, waits bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits = !m.begun && !m.stopped
	return m.begun && !m.stopped, m.waits
}

// order notes what the rank is told, and reports whether it has waited for that.
func (m *member) order(begin bool) (waited bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	waited, m.waits = m.waits, false
	if begin {
		m.begun = true
	} else if !m.stopped {
		m.stopped = true
		close(m.failed)
	}
	return waited
}

// isWaiting reports whether the rank waits for an order.
func (m *member) isWaiting() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waits
}
