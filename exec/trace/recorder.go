package trace

import (
	"sync"
	"time"
)

// Event is one attempt at a task.
type Event struct {
	Job     uint64        // number of the job in its runtime
	Task    uint64        // number of the task in its job
	Op      string        // as in "gemm/f64"
	Version string        // version that ran
	Worker  int           // worker that ran it
	Start   time.Duration // since the recorder's start
	End     time.Duration
	Failed  bool
}

// Recorder collects events. The zero value is ready to use; it starts with
// the first clock reading. It is safe for concurrent use. A runtime records
// into it as long as it runs; the memory grows by one Event an attempt until
// [Recorder.Reset].
type Recorder struct {
	once    sync.Once
	start   time.Time
	mu      sync.Mutex // guards the slice of buffers
	buffers []*buffer
}

// buffer holds the events of one worker. Its lock is taken by that worker and
// by readers only, so recording does not contend.
type buffer struct {
	mu     sync.Mutex
	events []Event
	_      [64]byte // keeps neighbours off this cache line
}

// Now returns the time since the recorder's start.
func (r *Recorder) Now() time.Duration {
	r.once.Do(func() { r.start = time.Now() })
	return time.Since(r.start)
}

// Sink returns the function that records the events of one worker.
func (r *Recorder) Sink(worker int) func(Event) {
	r.mu.Lock()
	for len(r.buffers) <= worker {
		r.buffers = append(r.buffers, &buffer{})
	}
	b := r.buffers[worker]
	r.mu.Unlock()
	return func(e Event) {
		b.mu.Lock()
		b.events = append(b.events, e)
		b.mu.Unlock()
	}
}

// Events returns a copy of what was recorded, worker by worker, each in the
// order of time.
func (r *Recorder) Events() []Event {
	var all []Event
	for _, b := range r.snapshot() {
		b.mu.Lock()
		all = append(all, b.events...)
		b.mu.Unlock()
	}
	return all
}

// Reset forgets all events. The clock goes on.
func (r *Recorder) Reset() {
	for _, b := range r.snapshot() {
		b.mu.Lock()
		b.events = b.events[:0]
		b.mu.Unlock()
	}
}

func (r *Recorder) snapshot() []*buffer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*buffer(nil), r.buffers...)
}
