package cluster

import (
	"context"

	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// store holds the values that a node has of the jobs of a driver. It relies on the order of tasks that the
// driver keeps: at any time, either tasks read a version of a datum, or one task makes the next version in
// its place.
type store struct {
	fetcher
}

// newStore returns a store for a node with the given number of workers.
func newStore(t transport.Transport, f *sharedFetches, workers int, k known, m *meter) *store {
	s := &store{fetcher{
		values: values{
			transport: t, known: k, derivableBytes: derivablePerWorker * int64(workers+1),
			held: map[transport.Ref]*held{}, readers: map[transport.Ref]int{},
		},
		shared: f, meter: m,
	}}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.more.L, s.readersDone.L = &s.mu, &s.mu
	return s
}

// adopt enters a value of the program as the first version of a datum, for other nodes to fetch.
func (s *store) adopt(r transport.Ref, h *home) {
	h.ref = r
	s.mu.Lock()
	s.held[keyOf(r)] = &held{ref: r, value: h.value, home: h}
	s.mu.Unlock()
	s.publish(r, h.value)
}

// want returns the value of an operand. If later is true, the version is not there yet: w is told when it has
// been fetched. If the node had no value, want makes one, which is zero if the task reads a datum that no
// task has written.
func (s *store) want(o *operand, from givers, reads, writes bool, w waiter) (value any, later bool, err error) {
	r := o.Ref
	s.mu.Lock()
	h, err := s.hold(o, reads, writes)
	if err != nil {
		s.mu.Unlock()
		return nil, false, err
	}
	value = h.value
	if h.has(r) {
		s.mu.Unlock()
		return value, false, nil
	}
	if reads && h.ref == r && h.coming {
		h.waiters = append(h.waiters, w)
		s.mu.Unlock()
		return value, true, nil
	}
	// Another version takes the place of what it holds: the task's result, or one to be fetched.
	old, stays := h.ref, h.isHome(h.ref)
	s.releaseDerived(h)
	h.ref, h.err = r, errNoVersion
	if reads {
		h.coming, h.err, h.waiters = true, nil, append(h.waiters, w)
	}
	s.mu.Unlock()
	if stays || old == r { // other nodes may wait for it here
		old = transport.Ref{}
	}
	if reads {
		name := r
		if o.Copy != nil {
			name = *o.Copy
		}
		s.fetch(fetch{h, r, name, from, old})
	} else if old != (transport.Ref{}) {
		s.withdraw(old)
	}
	return value, reads, nil
}

// hold returns the held datum of an operand. The version may come into its memory, and the task may write
// there. If the task reads an operand that is Zero, the memory is cleared. The caller holds mu.
func (s *store) hold(o *operand, reads, writes bool) (*held, error) {
	r, zero := o.Ref, reads && o.Zero
	h := s.held[keyOf(r)]
	switch {
	case h == nil:
		v, err := s.newValue(o, zero)
		if err != nil {
			return nil, err
		}
		h = &held{ref: r, value: v, err: errNoVersion}
		s.held[keyOf(r)] = h
		s.addBytes(bytesOf(v))
	case h.coming && (h.ref != r || !reads || zero) && !h.inHome():
		// The fetch in progress goes on into the old memory.
		like := core.FactsOf(h.value)
		v, err := s.newValue(&operand{Ref: r, Type: like.Kind, Shape: like.Shape}, zero)
		if err != nil {
			return nil, err
		}
		h.detached = true
		h = &held{ref: h.ref, value: v, home: h.home, err: errNoVersion}
		s.held[keyOf(r)] = h
		s.addBytes(bytesOf(v))
	case zero && (h.ref != r || h.err != nil): // memory for a task that was given back
		v, err := s.newValue(o, true)
		if err != nil {
			return nil, err
		}
		s.releaseDerived(h)
		h.value = v
	}
	if zero {
		h.ref, h.err = r, nil
	}
	if !h.inHome() || !h.home.retained || h.coming || h.has(r) && !writes {
		return h, nil
	}
	// The program's memory keeps what it holds. The datum goes on in other memory: a copy, if the
	// task needs this version.
	var v any
	if h.has(r) {
		v = h.value.(versions.Value).Snapshot()
	} else {
		var err error
		if v, err = s.newValue(h.home.operand(r), false); err != nil {
			return nil, err
		}
	}
	s.releaseDerived(h)
	h.value = v
	s.addBytes(bytesOf(v))
	return h, nil
}

// fetchBeside calls f when the driver has version r in memory beside that of the program. It copies nothing
// before it returns.
func (s *store) fetchBeside(r transport.Ref, to *home, from givers, f func(error)) {
	if _, later, err := s.want(to.operand(r), from, true, false, then(f)); !later {
		f(err)
	}
}

// overwriteHome calls f when version r has replaced the contents of the program's memory.
func (s *store) overwriteHome(r transport.Ref, to *home, from givers, f func(error)) {
	s.bringHome(r, to, from, true, false, then(f))
}

// bringHome tells w when version r is in the memory of the program. If keeps is set, and the version that it
// replaces is the first, a copy of that first version is kept as the base. r stays there until a task writes
// the datum: tasks that only the driver can execute run in the memory of the program.
func (s *store) bringHome(r transport.Ref, to *home, from givers, reads, keeps bool, w waiter) {
	s.mu.Lock()
	h := s.held[keyOf(r)]
	if h == nil { // computed again under another name
		h = &held{ref: r, value: to.value, err: errNoVersion}
		s.held[keyOf(r)] = h
	}
	h.home = to
	switch {
	case h.coming: // perhaps into other memory
		h.waiters = append(h.waiters, then(func(error) { s.bringHome(r, to, from, reads, keeps, w) }))
		s.mu.Unlock()
		return
	case to.ref == r && h.value == to.value && h.err == nil:
		s.mu.Unlock()
		w.got(arrival{Ref: r}, nil)
		return
	}
	var here versions.Value // this version in other memory, where a task has left it
	if h.ref == r && h.err == nil {
		here, _ = h.value.(versions.Value)
	}
	old, was := h.ref, to.ref
	s.releaseDerived(h)
	if h.value != to.value {
		s.addBytes(-bytesOf(h.value))
	}
	h.ref, h.coming, h.value = r, true, to.value
	h.waiters = append(h.waiters, w)
	s.count.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.count.Done()
		var c arrival
		var err error
		if v, ok := to.value.(versions.Value); ok && was != r {
			var base versions.Value
			if keeps && to.retained && to.base == nil {
				base = v.Snapshot()
			}
			s.mu.Lock()
			if to.ref = (transport.Ref{}); base != nil { // no fetch begins to copy it
				to.base, to.baseRef = base, was
			}
			s.mu.Unlock()
			if s.withdraw(was); base != nil {
				s.publish(was, base)
			}
			switch {
			case !reads:
			case here != nil:
				s.forgetOnDevices(v)
				v.Restore(here)
			default:
				c, err = s.copy(s.ctx, v, r, from)
			}
		}
		if old != r && old != was { // other nodes may be about to fetch old == r
			s.transport.Drop(old)
		}
		s.mu.Lock()
		to.ref = r
		if err != nil { // it may be damaged
			to.ref = transport.Ref{}
		}
		s.mu.Unlock()
		if err == nil {
			s.publish(r, to.value)
		}
		s.deliver(h, r, c, err)
	}()
}

// beginWrite ends the version that a task is about to overwrite, and waits for its readers. No fetch of it can
// begin any more.
func (s *store) beginWrite(r transport.Ref) {
	s.mu.Lock()
	h := s.held[keyOf(r)]
	s.releaseDerived(h)
	h.err = errNoVersion
	stays := h.isHome(r) && h.value != h.home.value
	if h.inHome() {
		h.home.ref = transport.Ref{} // no fetch begins to copy it
	}
	s.mu.Unlock()
	if !stays {
		s.withdraw(r)
	}
}

// endWrite publishes the value that a task has written as the next version of r, before the driver hears of the
// end.
func (s *store) endWrite(r transport.Ref) {
	s.mu.Lock()
	h := s.held[keyOf(r)]
	r.Version++
	h.ref, h.err = r, nil
	if h.inHome() {
		h.home.ref = r
	}
	s.mu.Unlock()
	s.publish(r, h.value)
}

// drop forgets a version that no task will read, and releases its memory, unless the node has got another
// version since. It does not touch the memory of the program.
func (s *store) drop(r transport.Ref) {
	s.mu.Lock()
	h := s.held[keyOf(r)]
	if h == nil || h.ref != r || h.coming || h.isHome(r) {
		s.mu.Unlock()
		return
	}
	s.releaseDerived(h)
	if !h.inHome() {
		s.addBytes(-bytesOf(h.value))
	}
	if h.home != nil {
		h.ref, h.value, h.err = h.home.ref, h.home.value, nil
		s.mu.Unlock()
		s.transport.Drop(r)
		return
	}
	s.removeHeld(keyOf(r))
	s.mu.Unlock()
	s.withdraw(r)
	s.forgetOnDevices(h.value)
	s.recycle(h.value)
}

// forget drops the data of a job, or of a set of kept data. No task of the job runs any more.
func (s *store) forget(job uint64) {
	s.mu.Lock()
	var all []transport.Ref
	var unused []any
	for k, h := range s.held {
		if k.Job == job {
			all = append(all, h.ref)
			s.releaseDerived(h)
			if h.home == nil && !h.coming { // a fetch may still write into it
				unused = append(unused, h.value)
			}
			if !h.inHome() {
				s.addBytes(-bytesOf(h.value))
			}
			if h.home != nil {
				all = append(all, h.home.ref, h.home.baseRef)
			}
			s.removeHeld(k)
		}
	}
	s.mu.Unlock()
	for _, r := range all {
		s.withdraw(r)
	}
	for _, v := range unused {
		s.forgetOnDevices(v)
		s.recycle(v)
	}
}

// close ends all fetches and drops all data.
func (s *store) close() {
	s.end()
	s.mu.Lock()
	s.more.Broadcast()
	s.mu.Unlock()
	s.count.Wait()
	s.mu.Lock()
	all := s.held
	for _, h := range all {
		s.releaseDerived(h)
	}
	s.held, s.bytes = map[transport.Ref]*held{}, 0
	s.recycled, s.recycledBytes = nil, 0
	if s.trimTimer != nil {
		s.trimTimer.Stop()
	}
	s.mu.Unlock()
	for _, h := range all {
		s.transport.Drop(h.ref)
		if h.home != nil {
			s.transport.Drop(h.home.ref)
			s.transport.Drop(h.home.baseRef)
		}
	}
}
