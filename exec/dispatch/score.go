package dispatch

import (
	"math"
	"math/bits"

	"github.com/tessera-la/tessera/exec/graph"
)

// ByScore returns a factory of policies that take the task with the highest score at the worker's
// location; of equal ones the task with the largest priority, then the one submitted first. A task
// is scored once for each location, when it becomes ready. NaN counts as the lowest score. Taking a
// task costs O(locations · log ready).
//
// The score must depend on the task and the location only. It is called one call at a time, under
// the runtime's lock: it must not submit or wait.
func ByScore(score func(t *graph.Task, location int) float64) func(Machine) Policy {
	return func(m Machine) Policy { return newScored(m, score) }
}

// byData is the default of Machine.Held: the locations of the data, which know 64 of them.
func byData(t *graph.Task, yield func(location int, bytes int64)) {
	for i := range t.Len() {
		o := t.Operand(i)
		if o.Mode&graph.In == 0 || repeated(t, i) {
			continue
		}
		for at := uint64(o.Datum.At()); at != 0; at &= at - 1 {
			yield(bits.TrailingZeros64(at), o.Datum.Bytes)
		}
	}
}

// repeated reports whether an earlier operand of t is of the same datum as operand i.
func repeated(t *graph.Task, i int) bool {
	for k := range i {
		if t.Operand(k).Datum == t.Operand(i).Datum {
			return true
		}
	}
	return false
}

// scored has every task in several heaps. A task that is taken leaves all of them, also from the
// middle: each entry knows its place in each heap.
//
// With a score of the program's own, or few locations, there is a heap for each location, with all
// tasks. With l locations, Push and Pop take O(l·log n) for a task, and Push asks for l scores.
// With bytes as the score, which are 0 at most locations, there is a heap for each location with
// the tasks that have input there, and one more with all tasks, for workers at other locations.
// With h locations that have input of a task, Push and Pop take O(h·log n) for it.
//
// It assumes that a score does not change while the task is ready. For bytes that is nearly so:
// inputs of a ready task are complete, and can only be copied elsewhere.
type scored struct {
	locations []int // of workers
	heaps     []placeHeap
	score     func(t *graph.Task, location int) float64 // nil: bytes are the score, and the last heap has all tasks
	held      Held
	yield     func(location int, bytes int64) // the argument of held: adds to the entry adding
	adding    *entry
	n         int
	free      *entry
}

// entry is a task in the policy. Entries are reused; gen counts the uses.
type entry struct {
	prioritised
	gen    uint64
	places []place // the heaps point into it
	few    [3]place
	next   *entry // next free entry
}

// place is an entry's place in one heap.
type place struct {
	score       float64
	of          *entry
	heap, index int
}

func newScored(m Machine, score func(*graph.Task, int) float64) *scored {
	return &scored{locations: m.Locations, score: score, heaps: make([]placeHeap, m.Places())}
}

// fewPlaces is the number of locations up to which a heap for each location costs no more than a
// heap for each location with input, and one more.
const fewPlaces = 4

// newNear returns a scored with the bytes that need not be moved to the worker as the score.
// Reference: Amela et al., 2018, section 2.3.
func newNear(m Machine) *scored {
	switch n := m.Places(); {
	case n == 1:
		return newScored(m, func(*graph.Task, int) float64 { return 0 })
	case n <= fewPlaces && m.Held == nil:
		return newScored(m, func(t *graph.Task, location int) float64 { return float64(t.BytesAt(location)) })
	}
	q := &scored{locations: m.Locations, heaps: make([]placeHeap, m.Places()+1), held: m.Held}
	if q.held == nil {
		q.held = byData
	}
	q.yield = q.add
	return q
}

func (q *scored) Len() int { return q.n }

func (q *scored) Push(ready []*graph.Task, _ int) {
	for _, t := range ready {
		q.push(t)
	}
}

// add adds bytes at a location to the score of the task that is being pushed.
func (q *scored) add(location int, bytes int64) {
	e := q.adding
	if bytes == 0 || location >= len(q.heaps)-1 {
		return
	}
	for i := range e.places {
		if e.places[i].heap == location {
			e.places[i].score += float64(bytes)
			return
		}
	}
	e.places = append(e.places, place{float64(bytes), e, location, 0})
}

// push scores t and puts it into its heaps.
func (q *scored) push(t *graph.Task) *entry {
	e := q.free
	if e == nil {
		e = &entry{}
		e.places = e.few[:0]
	} else {
		q.free, e.next = e.next, nil
	}
	e.prioritised = prioritised{t.Priority, t.ID(), t}
	if q.score == nil {
		q.adding = e
		q.held(t, q.yield)
		e.places = append(e.places, place{0, e, len(q.heaps) - 1, 0})
	} else {
		for loc := range q.heaps {
			s := q.score(t, loc)
			if math.IsNaN(s) {
				s = math.Inf(-1)
			}
			e.places = append(e.places, place{s, e, loc, 0})
		}
	}
	for k := range e.places {
		p := &e.places[k]
		h := &q.heaps[p.heap]
		*h = append(*h, p)
		h.up(len(*h)-1, p)
	}
	q.n++
	return e
}

func (q *scored) Pop(worker int) *graph.Task {
	if h := q.heaps[q.locations[worker]]; len(h) > 0 {
		return q.take(h[0].of)
	}
	if q.score == nil && q.n > 0 {
		return q.take(q.heaps[len(q.heaps)-1][0].of)
	}
	return nil
}

// take removes e from all heaps and returns its task.
func (q *scored) take(e *entry) *graph.Task {
	for k := range e.places {
		q.heaps[e.places[k].heap].remove(e.places[k].index)
	}
	t := e.task
	e.task, e.places = nil, e.places[:0]
	e.gen++
	e.next, q.free = q.free, e
	q.n--
	return t
}

// placeHeap is a binary heap of places, the highest score first.
type placeHeap []*place

// precedes reports whether p comes before o.
func (p *place) precedes(o *place) bool {
	return p.score > o.score || p.score == o.score && p.of.before(&o.of.prioritised)
}

// set puts p at i.
func (h placeHeap) set(i int, p *place) {
	h[i] = p
	p.index = i
}

// up puts p at the free place i or above it.
func (h placeHeap) up(i int, p *place) {
	for i > 0 {
		up := (i - 1) / 2
		if !p.precedes(h[up]) {
			break
		}
		h.set(i, h[up])
		i = up
	}
	h.set(i, p)
}

// remove takes place i out. The last place moves there, and then down or up: it may come from
// another branch.
func (h *placeHeap) remove(i int) {
	n := len(*h) - 1
	p := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	if i < n {
		(*h).up((*h).down(i, p), p)
	}
}

// down moves the free place i down until p may be put there or above, and returns it.
func (h placeHeap) down(i int, p *place) int {
	for c := 2*i + 1; c < len(h); c = 2*i + 1 {
		if c+1 < len(h) && h[c+1].precedes(h[c]) {
			c++
		}
		if !h[c].precedes(p) {
			break
		}
		h.set(i, h[c])
		i = c
	}
	return i
}
