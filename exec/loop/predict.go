package loop

import (
	"math"
	"time"

	"github.com/tessera-la/tessera/internal/heap"
)

// Model is the cost of a loop on some machine, for [Predict]. Times are in seconds.
type Model struct {
	// Cost returns the time of a chunk's items on its worker. The chunk's Queue is its source.
	Cost func(Chunk) float64
	// Take is how long taking a chunk occupies a queue: other workers wait. Each is the further
	// overhead of a chunk for its worker, and Steal the addition for a chunk of another worker's
	// queue.
	Take, Each, Steal float64
	// Start is the starting time of each worker; nil means 0.
	Start []float64
	// Spans makes Predict fill Stats.Spans.
	Spans bool
}

// Predict returns the statistics of a loop on a hypothetical machine: the same [Dispenser], asked
// in virtual time. locations are the workers', as for [NewDispenser], whose panics it shares.
func Predict(items int, locations []int, p Plan, m Model) Stats {
	return predict(NewDispenser(items, locations, p), items, m)
}

// predict is Predict with a given Dispenser.
func predict(d *Dispenser, items int, m Model) Stats {
	hands := make([]hand, len(d.takers))
	free := make([]float64, d.Queues()) // when each queue is free
	var line heap.Heap[float64, int]    // workers by the time at which they ask next
	for w := range d.takers {
		at := 0.0
		if m.Start != nil {
			at = m.Start[w]
		}
		line.Push(heap.Item[float64, int]{Key: at, Seq: uint64(w), Value: w})
	}
	end := 0.0
	for len(line.At) > 0 {
		next := line.At[0]
		w, now := next.Value, next.Key
		c, ok := d.Next(w)
		if !ok {
			line.Remove(0)
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
		next.Key = done
		line.Set(0, next)
	}
	s := Stats{Items: items, Plan: d.plan, Took: seconds(end)}
	s.gather(hands)
	return s
}

// seconds returns x seconds, to the nearest nanosecond.
func seconds(x float64) time.Duration { return time.Duration(math.Round(x * float64(time.Second))) }
