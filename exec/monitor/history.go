package monitor

import (
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
)

// Samples are taken twice a second, and those of the last five minutes are kept: who opens
// the page late sees what went on before.
const (
	sampleEvery = 500 * time.Millisecond
	sampleCount = 600
)

// Sample says what was done at a time, in microseconds from the recorder's start. Work is
// that of trace.Counts: floating point operations.
type Sample struct {
	At    int64   `json:"t"`
	Ended int64   `json:"n"`
	Work  float64 `json:"w"`
	// Submitted is how many tasks had been by then: before there are any a rate is not known.
	Submitted int64 `json:"s"`
}

// history is the latest samples.
type history struct {
	mu      sync.Mutex
	samples []Sample // a ring once there are sampleCount; then next is the oldest
	next    int
}

// add takes a sample.
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
