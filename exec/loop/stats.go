package loop

import (
	"slices"
	"time"
)

// Stats describes a finished loop: the work of each worker, and the times.
type Stats struct {
	Items   int
	Plan    Plan          // the plan used, also under Auto
	Took    time.Duration // the whole loop
	Workers []WorkerStats // by number of the worker
	// Spans are the chunks, in the order of their items, if Options.Spans was set.
	Spans []Span
}

// WorkerStats is the work of a worker for a loop.
type WorkerStats struct {
	Chunks, Items int
	// Busy is the time from the first chunk to the end of the last one, without other tasks in
	// between.
	Busy time.Duration
	// Steals lists the chunks taken from other queues, by the numbers of the queues.
	Steals []Steals
}

// Steals counts the chunks that a worker took from a queue that is not its own.
type Steals struct{ Queue, Chunks, Items int }

// Span is a chunk with the time of its execution, counted from the loop's beginning.
type Span struct {
	Chunk
	Start, End time.Duration
}

// Chunks returns the number of chunks.
func (s *Stats) Chunks() (n int) {
	for i := range s.Workers {
		n += s.Workers[i].Chunks
	}
	return n
}

// Steals returns the number of chunks taken from other workers' queues.
func (s *Stats) Steals() (n int) {
	for i := range s.Workers {
		for _, x := range s.Workers[i].Steals {
			n += x.Chunks
		}
	}
	return n
}

// Imbalance returns the part of the workers' time that is lost because they do not end together: 1
// − mean/max of their busy times. It is 0 for a loop that took no time.
func (s *Stats) Imbalance() float64 {
	var sum, most time.Duration
	for i := range s.Workers {
		sum, most = sum+s.Workers[i].Busy, max(most, s.Workers[i].Busy)
	}
	if most == 0 {
		return 0
	}
	return 1 - float64(sum)/float64(len(s.Workers))/float64(most)
}

// hand is a worker's notes during a loop. It is private to the worker until the loop has ended.
type hand struct {
	WorkerStats
	spans []Span
	_     [64]byte
}

// took notes a chunk.
func (h *hand) took(c Chunk, own int) {
	n := c.Hi - c.Lo
	h.Chunks++
	h.Items += n
	if c.Queue == own {
		return
	}
	// A thief usually goes on with the same queue.
	if k := len(h.Steals) - 1; k >= 0 && h.Steals[k].Queue == c.Queue {
		h.Steals[k].Chunks++
		h.Steals[k].Items += n
		return
	}
	h.stole(c.Queue, n)
}

// stole notes a chunk stolen from a queue.
func (h *hand) stole(queue, items int) {
	i, found := slices.BinarySearchFunc(h.Steals, queue, func(s Steals, q int) int { return s.Queue - q })
	if !found {
		h.Steals = slices.Insert(h.Steals, i, Steals{Queue: queue})
	}
	h.Steals[i].Chunks++
	h.Steals[i].Items += items
}

// gather merges the workers' notes.
func (s *Stats) gather(hands []hand) {
	s.Workers, s.Spans = make([]WorkerStats, len(hands)), nil
	for i := range hands {
		s.Workers[i] = hands[i].WorkerStats
		s.Spans = append(s.Spans, hands[i].spans...)
	}
	slices.SortFunc(s.Spans, func(a, b Span) int { return a.Lo - b.Lo })
}
