package cluster

import (
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// meter measures a node: the time that its workers spend in tasks, the time that they are idle while
// tasks wait for operands, and where the operands come from.
type meter struct {
	workers int
	began   time.Time // when the node's clock was 0

	mu       sync.Mutex    // a leaf
	last     time.Time     // when advance last added time
	waiting  int           // tasks that wait for operands
	running  int           // tasks that the runtime has
	busy     time.Duration // of all workers, in tasks
	starving time.Duration // of all workers, idle while tasks wait for operands

	awaited map[origin]int     // fetches in progress, by origin
	fetches int                // sum of awaited
	flows   map[origin]figures // since the last drain
	traced  bool               // whether copies gets an entry for each fetch
	copies  []copied           // since the last drain
}

// newMeter returns the meter of a node that has the given number of workers.
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

// advance adds the time since the last change. It divides the idle time of workers equally among the
// fetches in progress. The caller holds mu.
func (m *meter) advance(now time.Time) {
	if !m.last.IsZero() {
		passed := now.Sub(m.last)
		busy := min(m.running, m.workers)
		m.busy += time.Duration(busy) * passed
		idle := time.Duration(min(m.workers-busy, m.waiting)) * passed
		m.starving += idle
		if idle > 0 && m.fetches > 0 {
			for source, n := range m.awaited {
				f := m.flows[source]
				f.Waited += idle * time.Duration(n) / time.Duration(m.fetches)
				m.flows[source] = f
			}
		}
	}
	m.last = now
}

// originOf returns the origin of version r when it comes from the given node.
func originOf(node string, r transport.Ref) origin { return origin{node, r.Job, r.Matrix} }

// beginFetch notes that a fetch begins.
func (m *meter) beginFetch(source origin) {
	m.mu.Lock()
	m.addFetches(source, 1)
	m.mu.Unlock()
}

// endFetch notes the end of a fetch that began at since. giver is the node that gave the value, ""
// if the fetch failed. The arrival that endFetch returns has no Ref; the caller sets it. It is zero
// if the fetch failed.
func (m *meter) endFetch(source origin, giver string, bytes int64, since time.Time) (c arrival) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addFetches(source, -1)
	if giver == "" {
		return c
	}
	source.From = giver
	f, took := m.flows[source], m.last.Sub(since)
	f.Values, f.Bytes, f.Took = f.Values+1, f.Bytes+bytes, f.Took+took
	m.flows[source] = f
	if m.traced {
		m.copies = append(m.copies, copied{From: giver, Job: source.Job, Bytes: bytes, Began: m.clock(since), Took: took})
	}
	return arrival{From: giver, Bytes: bytes, Began: m.clock(since), Took: took}
}

// addFetches changes the number of fetches in progress from source by delta. It advances the clock
// first. The caller holds mu.
func (m *meter) addFetches(source origin, delta int) {
	m.advance(time.Now())
	m.fetches += delta
	if m.awaited[source] += delta; m.awaited[source] == 0 {
		delete(m.awaited, source)
	}
}

// trace sets whether fetches are reported one by one.
func (m *meter) trace(on bool) {
	m.mu.Lock()
	m.traced = on
	m.mu.Unlock()
}

// drain writes the totals of busy and starving time, and moves the flows and copies since the last
// call, into a message.
func (m *meter) drain(e *ended) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(time.Now())
	e.Busy, e.Starving = m.busy, m.starving
	for source, f := range m.flows {
		e.Flows = append(e.Flows, flow{origin: source, figures: f})
	}
	clear(m.flows)
	e.Copies, m.copies = m.copies, nil
}
