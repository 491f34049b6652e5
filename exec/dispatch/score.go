package dispatch

import (
	"math"

	"github.com/tessera-la/tessera/exec/graph"
)

// ByScore returns a factory of policies that take the task with the highest score
// at the worker's location; of equals the one with the largest priority, and then
// the one that was submitted first. A task is scored once for each location, when
// it becomes ready. NaN counts as the lowest score. Taking a task costs
// O(locations · log ready).
//
// The score must depend on the task and the location only, and is called one call
// at a time, under the runtime's lock: it must not submit or wait.
func ByScore(score func(t *graph.Task, location int) float64) func(Machine) Policy {
	return func(m Machine) Policy { return newScored(m, score) }
}

// bytesAt is the score of Locality: the bytes that would not have to be brought to the
// worker. Reference: Amela et al., 2018, section 2.3.
func bytesAt(t *graph.Task, location int) float64 { return float64(t.BytesAt(location)) }

// scored has every task in a heap for each location. Removals are exact, from the
// middle of a heap too: each entry knows its place in each heap. With l locations, Push
// and Pop take O(l·log n) for a task, and Push l scores.
//
// It assumes that a score stays what it is while the task is ready. For locality that is
// nearly so: what a ready task reads has been made; it can only be copied elsewhere.
type scored struct {
	locations []int // of workers
	score     func(t *graph.Task, location int) float64
	heaps     []heap // by location
	free      *entry
}

// entry is a task in the policy. Entries are reused; gen tells one use from
// the next.
type entry struct {
	prioritised
	gen    uint64
	places []place // by location
	next   *entry  // free ones
}

// place is an entry's place in the heap of one location.
type place struct {
	score float64
	index int
}

func newScored(m Machine, score func(*graph.Task, int) float64) *scored {
	return &scored{locations: m.Locations, score: score, heaps: make([]heap, m.Places())}
}

func (q *scored) Len() int { return len(q.heaps[0]) }

func (q *scored) Push(ready []*graph.Task, _ int) {
	for _, t := range ready {
		q.push(t)
	}
}

// push scores t and puts it into all heaps.
func (q *scored) push(t *graph.Task) *entry {
	e := q.free
	if e == nil {
		e = &entry{places: make([]place, len(q.heaps))}
	} else {
		q.free, e.next = e.next, nil
	}
	e.prioritised = prioritised{t.Priority, t.ID(), t}
	for loc := range q.heaps {
		s := q.score(t, loc)
		if math.IsNaN(s) {
			s = math.Inf(-1)
		}
		e.places[loc].score = s
		q.heaps[loc] = append(q.heaps[loc], e)
		q.heaps[loc].up(loc, len(q.heaps[loc])-1, e)
	}
	return e
}

func (q *scored) Pop(worker int) *graph.Task {
	h := q.heaps[q.locations[worker]]
	if len(h) == 0 {
		return nil
	}
	return q.take(h[0])
}

// take removes e from everywhere and returns its task.
func (q *scored) take(e *entry) *graph.Task {
	for loc := range q.heaps {
		q.heaps[loc].remove(loc, e.places[loc].index)
	}
	t := e.task
	e.task = nil
	e.gen++
	e.next, q.free = q.free, e
	return t
}

// heap orders entries for one location, which its methods are told.
type heap []*entry

// precedes reports whether a comes before b at a location.
func (a *entry) precedes(b *entry, loc int) bool {
	x, y := a.places[loc].score, b.places[loc].score
	return x > y || x == y && a.before(&b.prioritised)
}

// set puts e at place k, and notes that there.
func (h heap) set(loc, k int, e *entry) {
	h[k] = e
	e.places[loc].index = k
}

// up puts e in place k, which is free, or further up.
func (h heap) up(loc, k int, e *entry) {
	for k > 0 {
		p := (k - 1) / 2
		if !e.precedes(h[p], loc) {
			break
		}
		h.set(loc, k, h[p])
		k = p
	}
	h.set(loc, k, e)
}

// remove takes the entry at place k out. The last one takes its place, from where it goes
// down, or up: it may be from another branch.
func (h *heap) remove(loc, k int) {
	n := len(*h) - 1
	e := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	if k < n {
		(*h).up(loc, (*h).down(loc, k, e), e)
	}
}

// down moves the free place k to where e may be, or to one below that, and returns
// it.
func (h heap) down(loc, k int, e *entry) int {
	for c := 2*k + 1; c < len(h); c = 2*k + 1 {
		if c+1 < len(h) && h[c+1].precedes(h[c], loc) {
			c++
		}
		if !h[c].precedes(e, loc) {
			break
		}
		h.set(loc, k, h[c])
		k = c
	}
	return k
}
