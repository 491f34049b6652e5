package cluster

import (
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// meter measures a node: the time of its workers in tasks, their time without one while tasks wait
// for operands, and from where the operands come.
type meter struct {
	workers int
	began   time.Time // when the node's clock was 0

	mu       sync.Mutex // a leaf
	last     time.Time
	waiting  int // tasks that wait for operands
	running  int // tasks that the runtime has
	busy     time.Duration
	starving time.Duration

	awaited map[origin]int // fetches in progress
	fetches int            // their number
	flows   map[origin]figures
	traced  bool
	copies  []copied // if traced: the fetches
}

// newMeter returns the meter of a node with so many workers.
func newMeter(workers int) meter {
	return meter{workers: workers, began: time.Now(), awaited: map[origin]int{}, flows: map[origin]figures{}}
}

// clock returns a time on the node's clock.
func (m *meter) clock(t time.Time) int64 { return int64(t.Sub(m.began)) }

// change adds to the numbers of waiting and running tasks, and returns the node's clock.
func (m *meter) change(waiting, running int) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(time.Now())
	m.waiting += waiting
	m.running += running
	return m.clock(m.last)
}

// counts returns the numbers of tasks that wait for operands and that run.
func (m *meter) counts() (waiting, running int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting, m.running
}

// advance adds the time since the last change. Fetches in progress share the time of workers
// without a task. The caller holds mu.
func (m *meter) advance(now time.Time) {
	if !m.last.IsZero() {
		passed := now.Sub(m.last)
		busy := min(m.running, m.workers)
		m.busy += time.Duration(busy) * passed
		idle := time.Duration(min(m.workers-busy, m.waiting)) * passed
		m.starving += idle
		if idle > 0 && m.fetches > 0 {
			for of, n := range m.awaited {
				f := m.flows[of]
				f.Waited += idle * time.Duration(n) / time.Duration(m.fetches)
				m.flows[of] = f
			}
		}
	}
	m.last = now
}

// originOf returns the origin of a version on a node.
func originOf(node string, r transport.Ref) origin { return origin{node, r.Job, r.Matrix} }

// beginFetch notes that a fetch begins.
func (m *meter) beginFetch(of origin) {
	m.mu.Lock()
	m.addFetches(of, 1)
	m.mu.Unlock()
}

// endFetch notes that a fetch has ended which began at since, and who has given the bytes; "" if it
// failed. It returns the arrival.
func (m *meter) endFetch(of origin, giver string, bytes int64, since time.Time) (c arrival) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addFetches(of, -1)
	if giver == "" {
		return c
	}
	of.From = giver
	f, took := m.flows[of], m.last.Sub(since)
	f.Values, f.Bytes, f.Took = f.Values+1, f.Bytes+bytes, f.Took+took
	m.flows[of] = f
	if m.traced {
		m.copies = append(m.copies, copied{From: giver, Job: of.Job, Bytes: bytes, Began: m.clock(since), Took: took})
	}
	return arrival{From: giver, Bytes: bytes, Began: m.clock(since), Took: took}
}

// addFetches changes the number of fetches from an origin. The caller holds mu.
func (m *meter) addFetches(of origin, by int) {
	m.advance(time.Now())
	m.fetches += by
	if m.awaited[of] += by; m.awaited[of] == 0 {
		delete(m.awaited, of)
	}
}

// trace sets whether fetches are reported one by one.
func (m *meter) trace(on bool) {
	m.mu.Lock()
	m.traced = on
	m.mu.Unlock()
}

// drain moves the figures since the last call into a message.
func (m *meter) drain(e *ended) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(time.Now())
	e.Busy, e.Starving = m.busy, m.starving
	for of, f := range m.flows {
		e.Flows = append(e.Flows, flow{origin: of, figures: f})
	}
	clear(m.flows)
	e.Copies, m.copies = m.copies, nil
}
