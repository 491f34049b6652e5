package trace

import (
	"slices"
	"time"
)

// ring is the latest events of a kind. It keeps them without pointers, which the garbage collector
// would scan again and again, and never moves them, which would cost as much as writing them.
//
// Until the limit is reached, event i is entry i. From then on each event takes the place of the
// oldest, so that the entries are in order from oldest on, cyclically.
type ring struct {
	pieces [][]entry // of pieceSize entries each
	n      int       // number of entries
	oldest int       // index of the oldest entry, once the limit is reached
	sorts  numbers[sort]
	data   numbers[string]
}

// pieceSize entries, 16 KiB, are allocated at a time.
const pieceSize = 256

// entry is an [Event] in a cache line.
type entry struct {
	job, task                    uint64
	submitted, ready, start, end time.Duration
	sort                         uint32 // number of its sort
	datum                        uint32 // number of the datum's name
	i, j                         int32
}

// sort is the common part of many events. A job has at most some hundreds of sorts, and millions of
// events.
type sort struct {
	op, version string
	worker      int
	failed      bool
}

// numbers numbers values from 0.
type numbers[T comparable] struct {
	all    []T
	of     map[T]uint32
	recent [4]uint32 // some of the latest values
	next   int       // index in recent to replace next
}

// number returns the number of x. Those that are asked for again and again cost four
// comparisons.
func (n *numbers[T]) number(x T) uint32 {
	for _, k := range n.recent {
		if int(k) < len(n.all) && n.all[k] == x {
			return k
		}
	}
	k, ok := n.of[x]
	if !ok {
		if n.of == nil {
			n.of = make(map[T]uint32)
		}
		k = uint32(len(n.all))
		n.all = append(n.all, x)
		n.of[x] = k
	}
	n.recent[n.next] = k
	n.next = (n.next + 1) % len(n.recent)
	return k
}

// at returns entry i, not in their order.
func (q *ring) at(i int) *entry { return &q.pieces[i/pieceSize][i%pieceSize] }

// pack makes an entry of e.
func (q *ring) pack(x *entry, e *Event) {
	*x = entry{
		job: e.Job, task: e.Task,
		submitted: e.Submitted, ready: e.Ready, start: e.Start, end: e.End,
		sort: q.sorts.number(sort{e.Op, e.Version, e.Worker, e.Failed}), datum: q.data.number(e.Datum),
		i: e.I, j: e.J,
	}
}

// unpack returns x as an event.
func (q *ring) unpack(x *entry) Event {
	s := &q.sorts.all[x.sort]
	return Event{
		Job: x.job, Task: x.task, Op: s.op, Version: s.version, Worker: s.worker,
		Datum: q.data.all[x.datum], I: x.i, J: x.j,
		Submitted: x.submitted, Ready: x.ready, Start: x.start, End: x.end, Failed: s.failed,
	}
}

// put appends e, or puts it in the place of the oldest event if there are limit.
func (q *ring) put(e *Event, limit int) {
	if limit <= 0 || q.n < limit {
		if q.n == len(q.pieces)*pieceSize {
			q.pieces = append(q.pieces, make([]entry, pieceSize))
		}
		q.n++
		q.pack(q.at(q.n-1), e)
		return
	}
	q.pack(q.at(q.oldest), e)
	q.oldest = (q.oldest + 1) % q.n
	if len(q.sorts.all)+len(q.data.all) > 3*limit+1000 {
		q.tidy()
	}
}

// tidy forgets what events that are gone had alone. It is called when there are three
// times as many sorts and names as entries, so each event pays for it in constant time.
func (q *ring) tidy() {
	old := *q
	q.sorts, q.data = numbers[sort]{}, numbers[string]{}
	for i := range q.n {
		x := q.at(i)
		e := old.unpack(x)
		q.pack(x, &e)
	}
}

// inOrder returns entry i of the n that there are, from the oldest on.
func (q *ring) inOrder(i int) *entry { return q.at((q.oldest + i) % q.n) }

// appendTo appends the events in order to dst.
func (q *ring) appendTo(dst []Event) []Event {
	dst = slices.Grow(dst, q.n)
	for i := range q.n {
		dst = append(dst, q.unpack(q.inOrder(i)))
	}
	return dst
}

// reset forgets all events, and keeps their room.
func (q *ring) reset() { q.n, q.oldest, q.sorts, q.data = 0, 0, numbers[sort]{}, numbers[string]{} }
