package loop

import (
	"container/heap"
	"math"
	"time"
)

// Model is what a loop costs on some machine, for [Predict]. Times are in seconds.
type Model struct {
	// Cost returns how long the worker of a chunk takes for its items. The chunk's Queue is
	// where it came from.
	Cost func(Chunk) float64
	// Take is for how long a queue is occupied by a worker that takes a chunk: others that
	// come wait until then. Each is what a chunk costs its worker beside that, and Steal
	// what it costs more from a queue that is not its own.
	Take, Each, Steal float64
	// Start is when each worker comes; nil means all at once.
	Start []float64
	// Spans has Stats.Spans filled.
	Spans bool
}

// Predict returns how a loop goes on a machine that there need not be: the same [Dispenser],
// asked in virtual time. Locations are those of the workers, as for [NewDispenser], which
// says what it panics with.
func Predict(items int, locations []int, p Plan, m Model) Stats {
	return predict(NewDispenser(items, locations, p), items, m)
}

// predict is Predict with what hands out the items.
func predict(d *Dispenser, items int, m Model) Stats {
	hands := make([]hand, len(d.takers))
	free := make([]float64, d.Queues()) // when each queue is
	line := make(waiting, len(d.takers))
	for w := range line {
		line[w].worker = w
		if m.Start != nil {
			line[w].at = m.Start[w]
		}
	}
	heap.Init(&line)
	end := 0.0
	for len(line) > 0 {
		w, now := line[0].worker, line[0].at
		c, ok := d.Next(w)
		if !ok {
			heap.Pop(&line)
			continue
		}
		got := max(now, free[c.Queue]) + m.Take
		free[c.Queue] = got
		start := got + m.Each
		if c.Queue != d.Own(w) {
			start += m.Steal
		}
		done := start + m.Cost(c)
		h := &hands[w]
		h.took(c, d.Own(w))
		h.Busy += seconds(done - now)
		if m.Spans {
			h.spans = append(h.spans, Span{c, seconds(start), seconds(done)})
		}
		end = max(end, done)
		line[0].at = done
		heap.Fix(&line, 0)
	}
	s := Stats{Items: items, Plan: d.plan, Took: seconds(end)}
	s.gather(hands)
	return s
}

// seconds returns x seconds, to the nearest nanosecond.
func seconds(x float64) time.Duration { return time.Duration(math.Round(x * float64(time.Second))) }

// waiting is workers in the order in which they ask next; of those that ask at once the one
// with the smallest number comes first.
type waiting []struct {
	at     float64
	worker int
}

func (w waiting) Len() int { return len(w) }
func (w waiting) Less(i, j int) bool {
	return w[i].at < w[j].at || w[i].at == w[j].at && w[i].worker < w[j].worker
}
func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w waiting) Push(any)      {}
func (w *waiting) Pop() any     { *w = (*w)[:len(*w)-1]; return nil }
