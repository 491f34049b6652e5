package trace

import (
	"slices"
	"time"
)

// ring is the latest events of a kind. It keeps them without pointers, for the
// garbage collector would look at all of them again and again.
type ring struct {
	entries []entry
	oldest  int // where it is, once there are as many as are kept
	words   words
}

// entry is an [Event] with its texts by number.
type entry struct {
	job, task                    uint64
	submitted, ready, start, end time.Duration
	op, version, datum           uint32
	worker, i, j                 int32
	failed                       bool
}

// words numbers texts.
type words struct {
	text   []string
	number map[string]uint32
	last   [3]uint32 // asked for by an op, a version and a datum
}

// of returns the number of s, which is the text of that kind of an event.
func (w *words) of(kind int, s string) uint32 {
	if n := w.last[kind]; int(n) < len(w.text) && w.text[n] == s {
		return n
	}
	n, ok := w.number[s]
	if !ok {
		if w.number == nil {
			w.number = make(map[string]uint32)
		}
		n = uint32(len(w.text))
		w.text = append(w.text, s)
		w.number[s] = n
	}
	w.last[kind] = n
	return n
}

// pack returns e as an entry.
func (q *ring) pack(e *Event) entry {
	return entry{
		job: e.Job, task: e.Task,
		submitted: e.Submitted, ready: e.Ready, start: e.Start, end: e.End,
		op: q.words.of(0, e.Op), version: q.words.of(1, e.Version), datum: q.words.of(2, e.Datum),
		worker: int32(e.Worker), i: e.I, j: e.J, failed: e.Failed,
	}
}

// unpack returns x as an event.
func (q *ring) unpack(x *entry) Event {
	text := q.words.text
	return Event{
		Job: x.job, Task: x.task, Op: text[x.op], Version: text[x.version], Worker: int(x.worker),
		Datum: text[x.datum], I: x.i, J: x.j,
		Submitted: x.submitted, Ready: x.ready, Start: x.start, End: x.end, Failed: x.failed,
	}
}

// put appends e, or puts it in the place of the oldest event if there are limit.
func (q *ring) put(e *Event, limit int) {
	if limit <= 0 || len(q.entries) < limit {
		q.entries = append(grown(q.entries), q.pack(e))
		return
	}
	q.entries[q.oldest] = q.pack(e)
	q.oldest = (q.oldest + 1) % len(q.entries)
	if len(q.words.text) > 3*limit+1000 {
		q.tidy()
	}
}

// tidy forgets the texts of events that are gone.
func (q *ring) tidy() {
	old := *q
	q.words = words{}
	for i := range q.entries {
		e := old.unpack(&q.entries[i])
		q.entries[i] = q.pack(&e)
	}
}

// grown returns x with room for one more, for as many more as there are if there is
// none. By itself append takes a quarter more, and so moves each element some five
// times.
func grown[T any](x []T) []T {
	if len(x) == cap(x) {
		x = slices.Grow(x, max(256, len(x)))
	}
	return x
}

// inOrder returns the entries, the oldest first, in two pieces.
func (q *ring) inOrder() (older, newer []entry) { return q.entries[q.oldest:], q.entries[:q.oldest] }

// appendTo appends the events in order to dst.
func (q *ring) appendTo(dst []Event) []Event {
	older, newer := q.inOrder()
	dst = slices.Grow(dst, len(q.entries))
	for _, part := range [][]entry{older, newer} {
		for i := range part {
			dst = append(dst, q.unpack(&part[i]))
		}
	}
	return dst
}

// reset forgets all events, and keeps their room.
func (q *ring) reset() { q.entries, q.oldest, q.words = q.entries[:0], 0, words{} }
