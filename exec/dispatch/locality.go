package dispatch

import "github.com/tessera-la/tessera/exec/graph"

// locality keeps every task in one list, in the order in which they became
// ready, and in one heap for each location that holds some of its input. Both
// removals are exact, so taking a task costs O(operands · log ready).
type locality struct {
	heaps       []heap // by location
	first, last *entry
	n           int
	order       uint64
	free        *entry
}

// entry is a task in the policy. Entries are reused; gen tells one use from
// the next.
type entry struct {
	task       *graph.Task
	order      uint64 // position in the order of becoming ready
	gen        uint64
	prev, next *entry // in the list; next also links free entries
	scores     []score
}

// score is an entry's place in the heap of one location.
type score struct {
	loc   int
	bytes int64
	index int // in the heap
}

func newLocality(workers int) *locality { return &locality{heaps: make([]heap, workers)} }

func (q *locality) Len() int { return q.n }

func (q *locality) Push(ready []*graph.Task, _ int) {
	for _, t := range ready {
		q.push(t)
	}
}

func (q *locality) push(t *graph.Task) *entry {
	e := q.free
	if e == nil {
		e = &entry{}
	} else {
		q.free, e.next = e.next, nil
	}
	q.order++
	e.task, e.order = t, q.order
	e.scores = e.scores[:0]
	for i := range t.Len() {
		o := t.Operand(i)
		loc := o.Datum.Home()
		if o.Mode&graph.In != 0 && o.Datum.Bytes > 0 && loc >= 0 && loc < len(q.heaps) {
			e.add(loc, o.Datum.Bytes)
		}
	}
	for i := range e.scores {
		q.heaps[e.scores[i].loc].push(item{e, i})
	}
	if e.prev = q.last; e.prev != nil {
		e.prev.next = e
	} else {
		q.first = e
	}
	q.last = e
	q.n++
	return e
}

func (e *entry) add(loc int, bytes int64) {
	for i := range e.scores {
		if e.scores[i].loc == loc {
			e.scores[i].bytes += bytes
			return
		}
	}
	e.scores = append(e.scores, score{loc: loc, bytes: bytes})
}

func (q *locality) Pop(worker int) *graph.Task {
	if worker >= 0 && worker < len(q.heaps) && len(q.heaps[worker]) > 0 {
		return q.take(q.heaps[worker][0].e)
	}
	if q.first == nil {
		return nil
	}
	return q.take(q.first)
}

// take removes e from everywhere and returns its task.
func (q *locality) take(e *entry) *graph.Task {
	for i := range e.scores {
		q.heaps[e.scores[i].loc].remove(e.scores[i].index)
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		q.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		q.last = e.prev
	}
	q.n--
	t := e.task
	e.task, e.prev = nil, nil
	e.gen++
	e.next, q.free = q.free, e
	return t
}

// heap orders entries by the bytes they have at one location, most first,
// then by age.
type heap []item

// item is score i of entry e.
type item struct {
	e *entry
	i int
}

func (x item) before(y item) bool {
	bx, by := x.e.scores[x.i].bytes, y.e.scores[y.i].bytes
	return bx > by || (bx == by && x.e.order < y.e.order)
}

func (h heap) set(k int, x item) {
	h[k] = x
	x.e.scores[x.i].index = k
}

func (h *heap) push(x item) {
	*h = append(*h, x)
	h.up(len(*h)-1, x)
}

func (h heap) up(k int, x item) {
	for k > 0 {
		p := (k - 1) / 2
		if !x.before(h[p]) {
			break
		}
		h.set(k, h[p])
		k = p
	}
	h.set(k, x)
}

func (h *heap) remove(k int) {
	n := len(*h) - 1
	x := (*h)[n]
	(*h)[n] = item{}
	*h = (*h)[:n]
	if k == n {
		return
	}
	if k > 0 && x.before((*h)[(k-1)/2]) {
		h.up(k, x)
		return
	}
	h.down(k, x)
}

func (h heap) down(k int, x item) {
	for {
		c := 2*k + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(x) {
			break
		}
		h.set(k, h[c])
		k = c
	}
	h.set(k, x)
}
