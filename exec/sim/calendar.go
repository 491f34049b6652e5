package sim

// calendar holds the events to come, the next first; of simultaneous events the one noted first. It
// is a 4-ary heap. Notes are kept beside it: so little moves in the heap, and it has no pointers
// for the garbage collector to follow.
type calendar struct {
	heap  []event
	notes []note
	spare []uint32 // free places in notes
	last  uint64
}

// event is a note that happens at a time.
type event struct {
	at   float64
	seq  uint64
	note uint32
}

// note is an event's argument and its handler.
type note struct {
	of  handler
	arg uint64
}

// handler handles events.
type handler interface{ fire(arg uint64) }

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.seq < f.seq }

// schedule adds an event at a time.
func (c *calendar) schedule(at float64, of handler, arg uint64) {
	c.last++
	e := event{at, c.last, uint32(len(c.notes))}
	if n := len(c.spare); n > 0 {
		e.note, c.spare = c.spare[n-1], c.spare[:n-1]
		c.notes[e.note] = note{of, arg}
	} else {
		c.notes = append(c.notes, note{of, arg})
	}
	c.heap = append(c.heap, e)
	i := len(c.heap) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&c.heap[up]) {
			break
		}
		c.heap[i] = c.heap[up]
		i = up
	}
	c.heap[i] = e
}

// next takes the next event, and returns its time and its note.
func (c *calendar) next() (at float64, what note) {
	h := c.heap
	first := h[0]
	n := len(h) - 1
	e := h[n]
	h = h[:n]
	c.heap = h
	at, what = first.at, c.notes[first.note]
	c.notes[first.note] = note{} // let the handler be collected
	c.spare = append(c.spare, first.note)
	if n == 0 {
		return at, what
	}
	i := 0
	for k := 1; k < n; k = 4*i + 1 {
		best := k
		for j := k + 1; j < min(k+4, n); j++ {
			if h[j].before(&h[best]) {
				best = j
			}
		}
		if !h[best].before(&e) {
			break
		}
		h[i] = h[best]
		i = best
	}
	h[i] = e
	return at, what
}
