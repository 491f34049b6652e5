package sim

// calendar is what is going to happen, the next first: of what happens at one time that which
// was noted first. It is a 4-ary heap.
type calendar struct {
	heap []event
	last uint64
}

// event is something that happens at a time, to be handled by of.
type event struct {
	at  float64
	seq uint64
	of  handler
	arg uint64
}

// handler is what events happen to.
type handler interface{ happens(arg uint64) }

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.seq < f.seq }

// note has something happen at a time.
func (c *calendar) note(at float64, of handler, arg uint64) {
	c.last++
	e := event{at, c.last, of, arg}
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

// next takes the next event.
func (c *calendar) next() event {
	h := c.heap
	first := h[0]
	n := len(h) - 1
	e := h[n]
	h[n] = event{}
	h = h[:n]
	c.heap = h
	if n == 0 {
		return first
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
	return first
}
