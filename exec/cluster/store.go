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
			transport: t, known: k, derived: derivedCache{room: derivablePerWorker * int64(workers+1)},
			held: map[transport.Ref]*held{}, readers: map[transport.Ref]int{},
		},
		shared: f, meter: m,
	}}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.more.L, s.readersDone.L = &s.mu, &s.mu
	return s
}

// adopt enters a value of the program as a version of a datum, for other nodes to fetch: the first one, or
// one that the program has made in place of others.
func (s *store) adopt(r transport.Ref, h *home) {
	s.mu.Lock()
	if old := s.held[keyOf(r)]; old != nil {
		s.derived.releaseAll(&old.derived)
		if !old.inHome() {
			s.addBytes(-bytesOf(old.value))
		}
		old.detached = old.coming
	}
	h.ref = r
	s.held[keyOf(r)] = &held{ref: r, value: h.value, home: h}
	s.mu.Unlock()
	s.publish(r, h.value)
}

// want returns the value of an operand. If later is true, the version is not there yet: w is told when it has
// been fetched. If the node had no value, want makes one, which is zero if the task reads a datum that no
// task has written.
func (s *store) want(o *operand, from givers, reads, writes bool, w waiter) (value any, later bool, err error) {
	ref := o.Ref
	s.mu.Lock()
	datum, err := s.hold(o, reads, writes)
	if err != nil {
		s.mu.Unlock()
		return nil, false, err
	}
	value = datum.value
	if datum.has(ref) {
		s.mu.Unlock()
		return value, false, nil
	}
	if reads && datum.ref == ref && datum.coming {
		datum.waiters = append(datum.waiters, w)
		s.mu.Unlock()
		return value, true, nil
	}
	// Another version takes the place of what it holds: the task's result, or one to be fetched.
	old, stays := datum.ref, datum.isHome(datum.ref)
	s.derived.releaseAll(&datum.derived)
	datum.ref, datum.err = ref, errNoVersion
	if reads {
		datum.coming, datum.err, datum.waiters = true, nil, append(datum.waiters, w)
	}
	s.mu.Unlock()
	if stays || old == ref { // other nodes may wait for it here
		old = transport.Ref{}
	}
	if reads {
		name := ref
		if o.Copy != nil {
			name = *o.Copy
		}
		s.fetch(fetch{datum, ref, name, from, old})
	} else if old != (transport.Ref{}) {
		s.withdraw(old)
	}
	return value, reads, nil
}

// hold returns the held datum of an operand. The version may come into its memory, and the task may write
// there. If the task reads an operand that is Zero, the memory is cleared. The caller holds mu.
func (s *store) hold(o *operand, reads, writes bool) (*held, error) {
	ref, zero := o.Ref, reads && o.Zero
	datum := s.held[keyOf(ref)]
	switch {
	case datum == nil:
		value, err := s.newValue(o, zero)
		if err != nil {
			return nil, err
		}
		datum = &held{ref: ref, value: value, err: errNoVersion}
		s.held[keyOf(ref)] = datum
		s.addBytes(bytesOf(value))
	case datum.coming && (datum.ref != ref || !reads || zero) && !datum.inHome():
		// The fetch in progress goes on into the old memory.
		like := core.FactsOf(datum.value)
		value, err := s.newValue(&operand{Ref: ref, Type: like.Kind, Shape: like.Shape}, zero)
		if err != nil {
			return nil, err
		}
		datum.detached = true
		datum = &held{ref: datum.ref, value: value, home: datum.home, err: errNoVersion}
		s.held[keyOf(ref)] = datum
		s.addBytes(bytesOf(value))
	case zero && (datum.ref != ref || datum.err != nil): // memory for a task that was given back
		value, err := s.newValue(o, true)
		if err != nil {
			return nil, err
		}
		s.derived.releaseAll(&datum.derived)
		datum.value = value
	}
	if zero {
		datum.ref, datum.err = ref, nil
	}
	if !datum.inHome() || !datum.home.retained || datum.coming || datum.has(ref) && !writes {
		return datum, nil
	}
	// The program's memory keeps what it holds. The datum goes on in other memory: a copy, if the
	// task needs this version.
	var value any
	if datum.has(ref) {
		value = datum.value.(versions.Value).Snapshot()
	} else {
		var err error
		if value, err = s.newValue(datum.home.operand(ref), false); err != nil {
			return nil, err
		}
	}
	s.derived.releaseAll(&datum.derived)
	datum.value = value
	s.addBytes(bytesOf(value))
	return datum, nil
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

// bringHome tells w when version ref is in the memory of the program. If keeps is set, and the version that it
// replaces is the first, a copy of that first version is kept as the base. ref stays there until a task writes
// the datum: tasks that only the driver can execute run in the memory of the program.
func (s *store) bringHome(ref transport.Ref, to *home, from givers, reads, keeps bool, w waiter) {
	s.mu.Lock()
	datum := s.held[keyOf(ref)]
	if datum == nil { // computed again under another name
		datum = &held{ref: ref, value: to.value, err: errNoVersion}
		s.held[keyOf(ref)] = datum
	}
	datum.home = to
	switch {
	case datum.coming: // perhaps into other memory
		datum.waiters = append(datum.waiters, then(func(error) { s.bringHome(ref, to, from, reads, keeps, w) }))
		s.mu.Unlock()
		return
	case to.ref == ref && datum.value == to.value && datum.err == nil:
		s.mu.Unlock()
		w.got(arrival{Ref: ref}, nil)
		return
	}
	x := homeUpdate{datum: datum, to: to, from: from, ref: ref, old: datum.ref, was: to.ref, reads: reads, keeps: keeps}
	if datum.ref == ref && datum.err == nil {
		x.here, _ = datum.value.(versions.Value)
	}
	s.derived.releaseAll(&datum.derived)
	if datum.value != to.value {
		s.addBytes(-bytesOf(datum.value))
	}
	datum.ref, datum.coming, datum.value = ref, true, to.value
	datum.waiters = append(datum.waiters, w)
	s.count.Add(1)
	s.mu.Unlock()
	go s.updateHome(x)
}

// homeUpdate is a version on its way into the memory of the program.
type homeUpdate struct {
	datum        *held
	to           *home
	from         givers
	ref          transport.Ref  // the version
	old, was     transport.Ref  // what the datum held, and what the memory of the program holds until now
	here         versions.Value // the version in other memory, where a task has left it; nil if it is not here
	reads, keeps bool           // as of bringHome
}

// updateHome overwrites the memory of the program with a version, and tells those who wait for it.
func (s *store) updateHome(x homeUpdate) {
	defer s.count.Done()
	var arrived arrival
	var err error
	if value, ok := x.to.value.(versions.Value); ok && x.was != x.ref {
		s.beginOverwrite(x.to, x.was, x.keeps)
		switch {
		case !x.reads:
		case x.here != nil:
			s.forgetOnDevices(value)
			value.Restore(x.here)
		default:
			arrived, err = s.copy(s.ctx, value, x.ref, x.from)
		}
	}
	if x.old != x.ref && x.old != x.was { // other nodes may be about to fetch old == ref
		s.transport.Drop(x.old)
	}
	s.mu.Lock()
	x.to.ref = x.ref
	if err != nil { // it may be damaged
		x.to.ref = transport.Ref{}
	}
	s.mu.Unlock()
	if err == nil {
		s.publish(x.ref, x.to.value)
	}
	s.deliver(x.datum, x.ref, arrived, err)
}

// leaveHome puts a copy in the place of version r, which is in the program's memory, and returns when nothing reads that
// memory any more. No task writes the datum.
func (s *store) leaveHome(r transport.Ref, from *home) {
	value := from.value.(versions.Value).Snapshot()
	s.mu.Lock()
	datum := s.held[keyOf(r)]
	s.derived.releaseAll(&datum.derived)
	datum.value = value
	from.ref = transport.Ref{} // no fetch begins to copy it
	s.addBytes(bytesOf(value))
	s.mu.Unlock()
	s.publish(r, value)
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.readers[r] > 0 {
		s.readersDone.Wait()
	}
}

// beginOverwrite withdraws version was, which is in the program's memory, before another one takes its place. If
// keeps is set, it keeps a copy as the base, unless there is one.
func (s *store) beginOverwrite(to *home, was transport.Ref, keeps bool) {
	var base versions.Value
	if keeps && to.retained && to.base == nil {
		base = to.value.(versions.Value).Snapshot()
	}
	s.mu.Lock()
	if to.ref = (transport.Ref{}); base != nil { // no fetch begins to copy it
		to.base, to.baseRef = base, was
	}
	s.mu.Unlock()
	if s.withdraw(was); base != nil {
		s.publish(was, base)
	}
}

// beginWrite ends the version that a task is about to overwrite, and waits for its readers. No fetch of it can
// begin any more.
func (s *store) beginWrite(r transport.Ref) {
	s.mu.Lock()
	datum := s.held[keyOf(r)]
	s.derived.releaseAll(&datum.derived)
	datum.err = errNoVersion
	stays := datum.isHome(r) && datum.value != datum.home.value
	if datum.inHome() {
		datum.home.ref = transport.Ref{} // no fetch begins to copy it
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
	datum := s.held[keyOf(r)]
	r.Version++
	datum.ref, datum.err = r, nil
	if datum.inHome() {
		datum.home.ref = r
	}
	s.mu.Unlock()
	s.publish(r, datum.value)
}

// drop forgets a version that no task will read, and releases its memory, unless the node has got another
// version since. It does not touch the memory of the program.
func (s *store) drop(r transport.Ref) {
	s.mu.Lock()
	datum := s.held[keyOf(r)]
	if datum == nil || datum.ref != r || datum.coming || datum.isHome(r) {
		s.mu.Unlock()
		return
	}
	s.derived.releaseAll(&datum.derived)
	if !datum.inHome() {
		s.addBytes(-bytesOf(datum.value))
	}
	if datum.home != nil {
		datum.ref, datum.value, datum.err = datum.home.ref, datum.home.value, nil
		s.mu.Unlock()
		s.transport.Drop(r)
		return
	}
	s.removeHeld(keyOf(r))
	s.mu.Unlock()
	s.withdraw(r)
	s.forgetOnDevices(datum.value)
	s.recycle(datum.value)
}

// forget drops the data of a job, or of a set of kept data. No task of the job runs any more.
func (s *store) forget(job uint64) {
	s.mu.Lock()
	var refs []transport.Ref
	var unused []any
	for key, datum := range s.held {
		if key.Job == job {
			refs = append(refs, datum.ref)
			s.derived.releaseAll(&datum.derived)
			if datum.home == nil && !datum.coming { // a fetch may still write into it
				unused = append(unused, datum.value)
			}
			if !datum.inHome() {
				s.addBytes(-bytesOf(datum.value))
			}
			if datum.home != nil {
				refs = append(refs, datum.home.ref, datum.home.baseRef)
			}
			s.removeHeld(key)
		}
	}
	s.mu.Unlock()
	for _, ref := range refs {
		s.withdraw(ref)
	}
	for _, value := range unused {
		s.forgetOnDevices(value)
		s.recycle(value)
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
	for _, datum := range all {
		s.derived.releaseAll(&datum.derived)
	}
	s.held, s.bytes = map[transport.Ref]*held{}, 0
	s.recycled = recycler{}
	if s.trimTimer != nil {
		s.trimTimer.Stop()
	}
	s.mu.Unlock()
	for _, datum := range all {
		s.transport.Drop(datum.ref)
		if datum.home != nil {
			s.transport.Drop(datum.home.ref)
			s.transport.Drop(datum.home.baseRef)
		}
	}
}
