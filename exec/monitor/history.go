package monitor

import (
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
)

// Samples are taken twice a second. Those of the last five minutes are kept, so that a page opened
// later shows what went before.
const (
	sampleEvery = 500 * time.Millisecond
	sampleCount = 600
)

// Sample is the number of tasks and the work done at a time, in microseconds from the recorder's
// start. Work is trace.Counts' work: floating point operations.
type Sample struct {
	At    int64   `json:"t"`
	Ended int64   `json:"n"`
	Work  float64 `json:"w"`
	// Submitted is the number of submitted tasks: before the first a rate is not known.
	Submitted int64 `json:"s"`
}

// history is the latest samples.
type history struct {
	mu      sync.Mutex
	samples []Sample // a ring once it has sampleCount; next is then the oldest
	next    int
}

// add adds a sample.
func (h *history) add(at time.Duration, c trace.Counts) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Sample{at.Microseconds(), c.Ended, c.Work, c.Submitted}
	if len(h.samples) < sampleCount {
		h.samples = append(h.samples, s)
		return
	}
	h.samples[h.next] = s
	h.next = (h.next + 1) % sampleCount
}

// after returns the samples after a time, in order.
func (h *history) after(at time.Duration) []Sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Concat(h.samples[h.next:], h.samples[:h.next])
	i := slices.IndexFunc(all, func(s Sample) bool { return s.At > at.Microseconds() })
	if i < 0 {
		return []Sample{}
	}
	return all[i:]
}
