package cluster

import (
	"context"

	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// store is the values that a node has of a driver's jobs. The order of tasks, which the
// driver keeps, is what makes it simple: a version is read by tasks that have it and
// written by nobody, or one task makes the next version of it in its place.
type store struct {
	fetcher
}

// newStore returns a store for a node with so many workers, which makes values that it knows.
func newStore(t transport.Transport, f *fetching, workers int, k known, m *meter) *store {
	s := &store{fetcher{
		values: values{through: t, known: k, room: derivedRoom * int64(workers+1), held: map[transport.Ref]*held{}, copied: map[transport.Ref]int{}},
		all:    f, meter: m,
	}}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.more.L, s.quiet.L = &s.mu, &s.mu
	return s
}

// adopt puts a value of the program into the store, as the first version of a datum, for
// others to fetch.
func (s *store) adopt(r transport.Ref, h *home) {
	h.ref = r
	s.mu.Lock()
	s.held[datum(r)] = &held{ref: r, value: h.value, home: h}
	s.mu.Unlock()
	s.publish(r, h.value)
}

// want returns the value of an operand. If later, it is not there yet: W will be told when it
// has been fetched from one of those who have it. If the node has none, it makes what the
// operand says: zero for a task that reads what no task has written.
func (s *store) want(o *operand, from givers, reads, writes bool, w waiter) (value any, later bool, err error) {
	r := o.Ref
	s.mu.Lock()
	h, err := s.place(o, reads, writes)
	if err != nil {
		s.mu.Unlock()
		return nil, false, err
	}
	value = h.value
	if h.has(r) {
		s.mu.Unlock()
		return value, false, nil
	}
	if reads && h.ref == r && h.on {
		h.wants = append(h.wants, w)
		s.mu.Unlock()
		return value, true, nil
	}
	// Whatever it holds, another version comes in its place: that which the task makes, or
	// one to be fetched.
	old, stays := h.ref, h.isHome(h.ref)
	s.changes(h)
	h.ref, h.err = r, errNothing
	if reads {
		h.on, h.err, h.wants = true, nil, append(h.wants, w)
	}
	s.mu.Unlock()
	if stays || old == r { // others may wait for it here
		old = transport.Ref{}
	}
	if reads {
		name := r
		if o.Copy != nil {
			name = *o.Copy
		}
		s.fetch(fetch{h, r, name, from, old})
	} else if old != (transport.Ref{}) {
		s.takesBack(old)
	}
	return value, reads, nil
}

// place returns what holds the datum of an operand, where its version may come and a task may
// write it. A zero is there then. The caller holds mu.
func (s *store) place(o *operand, reads, writes bool) (*held, error) {
	r, zero := o.Ref, reads && o.Zero
	h := s.held[datum(r)]
	switch {
	case h == nil:
		v, err := s.fresh(o, zero)
		if err != nil {
			return nil, err
		}
		h = &held{ref: r, value: v, err: errNothing}
		s.held[datum(r)] = h
		s.grows(bytesOf(v))
	case h.on && (h.ref != r || !reads || zero) && !h.inHome():
		// What comes goes on coming, into memory of its own.
		like := core.FactsOf(h.value)
		v, err := s.fresh(&operand{Ref: r, Type: like.Kind, Shape: like.Shape}, zero)
		if err != nil {
			return nil, err
		}
		h.apart = true
		h = &held{ref: h.ref, value: v, home: h.home, err: errNothing}
		s.held[datum(r)] = h
		s.grows(bytesOf(v))
	case zero && (h.ref != r || h.err != nil): // a task was to write it here that has not begun
		v, err := s.fresh(o, true)
		if err != nil {
			return nil, err
		}
		s.changes(h)
		h.value = v
	}
	if zero {
		h.ref, h.err = r, nil
	}
	if !h.inHome() || !h.home.fixed || h.on || h.has(r) && !writes {
		return h, nil
	}
	// The program's memory keeps what it holds, and here goes on elsewhere: in a copy if it is
	// what the task wants.
	var v any
	if h.has(r) {
		v = h.value.(versions.Value).Snapshot()
	} else {
		var err error
		if v, err = s.fresh(h.home.operand(r), false); err != nil {
			return nil, err
		}
	}
	s.changes(h)
	h.value = v
	s.grows(bytesOf(v))
	return h, nil
}

// take has f called when the driver has a version, beside what the program's memory
// holds. It copies nothing meanwhile.
func (s *store) take(r transport.Ref, to *home, from givers, f func(error)) {
	if _, later, err := s.want(to.operand(r), from, true, false, then(f)); !later {
		f(err)
	}
}

// settle has f called when a version is in the program's memory, in place of what was
// there.
func (s *store) settle(r transport.Ref, to *home, from givers, f func(error)) {
	s.bring(r, to, from, true, false, then(f))
}

// bring tells w when a version is in the program's memory. What was there is kept
// elsewhere if it is the first to go, unless it need not be. It stays there until a task
// writes it: what cannot be executed elsewhere does so in the program's memory itself.
func (s *store) bring(r transport.Ref, to *home, from givers, reads, keeps bool, w waiter) {
	s.mu.Lock()
	h := s.held[datum(r)]
	if h == nil { // made again under another name
		h = &held{ref: r, value: to.value, err: errNothing}
		s.held[datum(r)] = h
	}
	h.home = to
	switch {
	case h.on: // maybe to elsewhere
		h.wants = append(h.wants, then(func(error) { s.bring(r, to, from, reads, keeps, w) }))
		s.mu.Unlock()
		return
	case to.ref == r && h.value == to.value && h.err == nil:
		s.mu.Unlock()
		w.got(came{Ref: r}, nil)
		return
	}
	var here versions.Value // a copy of it, as a task has left it
	if h.ref == r && h.err == nil {
		here, _ = h.value.(versions.Value)
	}
	old, was := h.ref, to.ref
	s.changes(h)
	if h.value != to.value {
		s.grows(-bytesOf(h.value))
	}
	h.ref, h.on, h.value = r, true, to.value
	h.wants = append(h.wants, w)
	s.count.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.count.Done()
		var c came
		var err error
		if v, ok := to.value.(versions.Value); ok && was != r {
			var base versions.Value
			if keeps && to.fixed && to.base == nil {
				base = v.Snapshot()
			}
			s.mu.Lock()
			if to.ref = (transport.Ref{}); base != nil { // nobody begins to copy what it holds
				to.base, to.baseRef = base, was
			}
			s.mu.Unlock()
			if s.takesBack(was); base != nil {
				s.publish(was, base)
			}
			switch {
			case !reads:
			case here != nil:
				s.overwrites(v)
				v.Restore(here)
			default:
				c, err = s.copy(v, r, from)
			}
		}
		if old != r && old != was { // or else others may be about to fetch it
			s.through.Drop(old)
		}
		s.mu.Lock()
		to.ref = r
		if err != nil { // it may hold anything
			to.ref = transport.Ref{}
		}
		s.mu.Unlock()
		if err == nil {
			s.publish(r, to.value)
		}
		s.came(h, r, c, err)
	}()
}

// writes ends the version that a task is about to write over: nobody fetches it any more.
func (s *store) writes(r transport.Ref) {
	s.mu.Lock()
	h := s.held[datum(r)]
	s.changes(h)
	h.err = errNothing
	stays := h.isHome(r) && h.value != h.home.value
	if h.inHome() {
		h.home.ref = transport.Ref{} // nobody begins to copy it
	}
	s.mu.Unlock()
	if !stays {
		s.takesBack(r)
	}
}

// written makes what a task has left in a datum its next version, which others can fetch
// before the driver hears of it.
func (s *store) written(r transport.Ref) {
	s.mu.Lock()
	h := s.held[datum(r)]
	r.Version++
	h.ref, h.err = r, nil
	if h.inHome() {
		h.home.ref = r
	}
	s.mu.Unlock()
	s.publish(r, h.value)
}

// drop forgets a version that nobody will read, and its memory. If the node has got
// another version since, it is that one's. What is in the program's memory stays.
func (s *store) drop(r transport.Ref) {
	s.mu.Lock()
	h := s.held[datum(r)]
	if h == nil || h.ref != r || h.on || h.isHome(r) {
		s.mu.Unlock()
		return
	}
	s.changes(h)
	if !h.inHome() {
		s.grows(-bytesOf(h.value))
	}
	if h.home != nil {
		h.ref, h.value, h.err = h.home.ref, h.home.value, nil
		s.mu.Unlock()
		s.through.Drop(r)
		return
	}
	s.leaves(datum(r))
	s.mu.Unlock()
	s.takesBack(r)
	s.overwrites(h.value)
	s.spares(h.value)
}

// forget drops all of a job, or of a set of data. No task of it runs any more.
func (s *store) forget(job uint64) {
	s.mu.Lock()
	var all []transport.Ref
	var unused []any
	for k, h := range s.held {
		if k.Job == job {
			all = append(all, h.ref)
			s.changes(h)
			if h.home == nil && !h.on { // or else something may still come into it
				unused = append(unused, h.value)
			}
			if !h.inHome() {
				s.grows(-bytesOf(h.value))
			}
			if h.home != nil {
				all = append(all, h.home.ref, h.home.baseRef)
			}
			s.leaves(k)
		}
	}
	s.mu.Unlock()
	for _, r := range all {
		s.takesBack(r)
	}
	for _, v := range unused {
		s.overwrites(v)
		s.spares(v)
	}
}

// close ends all fetches, and drops everything.
func (s *store) close() {
	s.end()
	s.mu.Lock()
	s.more.Broadcast()
	s.mu.Unlock()
	s.count.Wait()
	s.mu.Lock()
	all := s.held
	for _, h := range all {
		s.changes(h)
	}
	s.held, s.bytes = map[transport.Ref]*held{}, 0
	s.spare, s.spareBytes = nil, 0
	if s.fades != nil {
		s.fades.Stop()
	}
	s.mu.Unlock()
	for _, h := range all {
		s.through.Drop(h.ref)
		if h.home != nil {
			s.through.Drop(h.home.ref)
			s.through.Drop(h.home.baseRef)
		}
	}
}
