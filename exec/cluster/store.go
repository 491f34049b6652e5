package cluster

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// store is the values that a node has of a driver's jobs. The order of tasks, which the
// driver keeps, is what makes it simple: a version is read by tasks that have it and
// written by nobody, or one task makes the next version of it in its place.
type store struct {
	through transport.Transport
	known   known
	ctx     context.Context // the end of all fetches
	end     context.CancelFunc
	tokens  chan struct{} // for fetches at once
	meter   *meter

	mu    sync.Mutex              // a leaf
	held  map[transport.Ref]*held // by the datum: its Ref with version 0
	count sync.WaitGroup          // of fetchers, and of what is brought into the program's memory
	bytes int64                   // of values, but for those that are the program's
	peak  int64                   // the most that there were

	fetches  []fetch   // to be begun, in turn
	fetchers int       // goroutines that do so
	resting  int       // of these, those that have nothing to do
	more     sync.Cond // there is something to do, or the store is closed

	derived list.List // of *derived, that which was used last in front
	room    int64     // bytes of operands of which something may be derived

	spare      map[kindOf][]versions.Shaped // values that were dropped
	spareBytes int64
	spareMost  int64
}

// held is a datum on a node. Its memory stays the same for all versions that come here,
// made or fetched.
type held struct {
	ref   transport.Ref // of the version that is there, or on its way
	value any           // a versions.Value, or what only the driver has
	home  *home         // of a datum of the program, on the driver
	err   error         // why it did not come
	wants []waiter      // who waits for it; nil if it is there
	on    bool          // on its way
	made  []*derived    // of the version that is there
}

// derived is what tasks have made of a version for others that read it.
type derived struct {
	of    *held
	role  int
	value versions.Derived
	at    *list.Element // of store.derived
}

// waiter is told that a version is there, or why it has not come.
type waiter interface {
	got(r transport.Ref, err error)
}

// then is a waiter that waits for one version.
type then func(error)

func (f then) got(_ transport.Ref, err error) { f(err) }

// newStore returns a store for a node with so many workers, which makes values that it knows.
func newStore(t transport.Transport, tokens chan struct{}, workers int, k known, m *meter) *store {
	s := &store{through: t, tokens: tokens, meter: m, known: k, room: derivedRoom * int64(workers+1), spareMost: spareRoom * int64(workers+1), held: map[transport.Ref]*held{}}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.more.L = &s.mu
	return s
}

// datum returns what a Ref and its later versions have in common.
func datum(r transport.Ref) transport.Ref {
	r.Version = 0
	return r
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

// derivedRoom is the bytes of operands for each worker of which tasks derive something for
// others: it is as large again. Panels of some 30 tiles of 512×512.
const derivedRoom = 64 << 20

// derive returns what tasks that read a version share in a role, nil if it is not there.
// What was used the longest time ago makes room.
func (s *store) derive(r transport.Ref, role int, fresh func() versions.Derived) versions.Derived {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[datum(r)]
	if h == nil || h.ref != r || h.err != nil || h.on {
		return nil
	}
	for _, d := range h.made {
		if d.role == role {
			s.derived.MoveToFront(d.at)
			return d.value
		}
	}
	d := &derived{of: h, role: role, value: fresh()}
	d.at = s.derived.PushFront(d)
	h.made = append(h.made, d)
	s.room -= bytesOf(h.value)
	for s.room < 0 && s.derived.Len() > 1 {
		s.release(s.derived.Back().Value.(*derived))
	}
	return d.value
}

// release ends the sharing of what was derived. The caller holds mu.
func (s *store) release(d *derived) {
	s.room += bytesOf(d.of.value)
	s.derived.Remove(d.at)
	d.of.made = slices.DeleteFunc(d.of.made, func(x *derived) bool { return x == d })
	d.value.Release()
}

// changes notes that a datum will be another version, or go. The caller holds mu.
func (s *store) changes(h *held) {
	for len(h.made) > 0 {
		s.release(h.made[0])
	}
}

// spareRoom is the bytes for each worker of values that are kept to be fetched into: memory
// that is not asked of the system again and again.
const spareRoom = 16 << 20

// kindOf is what values must have in common for one to take the place of another one.
type kindOf struct{ name, shape string }

// spares keeps a value that nobody uses any more, if there is room.
func (s *store) spares(value any) {
	v, ok := value.(versions.Shaped)
	if !ok {
		return
	}
	f := factsOf(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := bytesOf(v); s.spareBytes+n <= s.spareMost {
		if s.spare == nil {
			s.spare = map[kindOf][]versions.Shaped{}
		}
		k := kindOf{f.kind, f.shape}
		s.spare[k] = append(s.spare[k], v)
		s.spareBytes += n
	}
}

// spared returns a value that was kept, nil if there is none of that kind. The caller holds mu.
func (s *store) spared(o *operand) any {
	k := kindOf{o.Type, o.Shape}
	all := s.spare[k]
	if len(all) == 0 {
		return nil
	}
	v := all[len(all)-1]
	s.spare[k] = all[:len(all)-1]
	s.spareBytes -= bytesOf(v)
	return v
}

// bytesOf returns how many bytes a value has, 0 if that is not known.
func bytesOf(v any) int64 {
	if v, ok := v.(versions.Value); ok {
		return v.Bytes()
	}
	return 0
}

// grows notes that there are more bytes than before, or fewer. The caller holds mu.
func (s *store) grows(by int64) {
	s.bytes += by
	s.peak = max(s.peak, s.bytes)
}

// most returns the bytes of the most values that the store has had.
func (s *store) most() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// now returns the bytes of the values that the store has.
func (s *store) now() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

func (s *store) publish(r transport.Ref, value any) {
	if v, ok := value.(versions.Value); ok {
		s.through.Publish(r, v)
	}
}

// want returns the value of an operand. If later, it is not there yet: W will be told when it
// has been fetched from one of those who have it. Fresh makes the value if the node has none;
// if it is nil, the operand says what is to be made.
func (s *store) want(o *operand, from []string, reads, writes bool, fresh func() (any, error), w waiter) (value any, later bool, err error) {
	r := o.Ref
	s.mu.Lock()
	h := s.held[datum(r)]
	if h == nil {
		var v any
		if reads { // all of it is written over
			v = s.spared(o)
		}
		if v == nil && fresh != nil {
			v, err = fresh()
		} else if v == nil {
			v, err = s.known.value(o.Type, o.Shape)
		}
		if err != nil {
			s.mu.Unlock()
			return nil, false, err
		}
		h = &held{ref: r, value: v, err: errNothing}
		s.held[datum(r)] = h
		s.grows(bytesOf(v))
	}
	there := h.ref == r && h.err == nil && !h.on
	if h.home != nil && h.home.fixed && h.value == h.home.value && !h.on && (writes || !there) {
		// The program's memory keeps what it holds, and here goes on in a copy.
		s.changes(h)
		h.value = h.value.(versions.Value).Snapshot()
		s.grows(bytesOf(h.value))
		if there {
			s.mu.Unlock()
			return h.value, false, nil
		}
	}
	value = h.value
	if there {
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
	if !stays {
		s.through.Drop(old)
	}
	if reads {
		name := r
		if o.Copy != nil {
			name = *o.Copy
		}
		s.fetch(fetch{h, r, name, from})
	}
	return value, reads, nil
}

// isHome reports whether r is the version in the program's memory.
func (h *held) isHome(r transport.Ref) bool { return h.home != nil && h.home.ref == r }

// fetch is a version to be brought, under its name or another one.
type fetch struct {
	h       *held
	r, name transport.Ref
	from    []string
}

// fetch has a version brought, which those who wait for it are told of. As many goroutines
// do so as are of use: a goroutine for each would cost more than to fetch a small value.
func (s *store) fetch(f fetch) {
	s.mu.Lock()
	s.fetches = append(s.fetches, f)
	more := len(s.fetches) > s.resting && s.fetchers < cap(s.tokens)
	if more {
		s.fetchers++
		s.count.Add(1)
	} else {
		s.more.Signal()
	}
	s.mu.Unlock()
	if more {
		go s.fetchAll()
	}
}

// fetchAll brings what is to be brought, until the store is closed.
func (s *store) fetchAll() {
	defer s.count.Done()
	for {
		s.mu.Lock()
		for len(s.fetches) == 0 {
			if s.ctx.Err() != nil {
				s.mu.Unlock()
				return
			}
			s.fetches = nil
			s.resting++
			s.more.Wait()
			s.resting--
		}
		f := s.fetches[0]
		s.fetches = s.fetches[1:]
		s.mu.Unlock()
		err := s.copy(f.h.value.(versions.Value), f.name, f.from)
		if err == nil {
			s.publish(f.r, f.h.value)
		}
		s.came(f.h, f.r, err)
	}
}

// came tells those who wait for a datum that it is there, or why not.
func (s *store) came(h *held, r transport.Ref, err error) {
	s.mu.Lock()
	wants := h.wants
	h.on, h.err, h.wants = false, err, nil
	s.mu.Unlock()
	for _, w := range wants {
		w.got(r, err)
	}
}

// copy copies a version into a value: from here, or from a node that has it.
func (s *store) copy(into versions.Value, r transport.Ref, from []string) error {
	if v := s.here(r); v != nil {
		into.Restore(v)
		return nil
	}
	first := ""
	for _, node := range from {
		if node != s.through.Self() {
			first = node
			break
		}
	}
	giver, since := "", time.Time{}
	s.meter.awaits(originOf(first, r))
	defer func() { s.meter.fetched(originOf(first, r), giver, into.Bytes(), since) }()
	select {
	case s.tokens <- struct{}{}:
		defer func() { <-s.tokens }()
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
	for wait := time.Millisecond; ; wait *= 2 {
		unreachable := false
		var err error
		for _, node := range from {
			if node == s.through.Self() {
				continue
			}
			since = time.Now()
			if err = s.through.Fetch(s.ctx, node, r, into); err == nil {
				giver = node
				return nil
			}
			var u *transport.UnreachableError
			unreachable = unreachable || errors.As(err, &u)
		}
		if err == nil {
			return &transport.NotHereError{Ref: r}
		}
		if !unreachable || wait > patience {
			return err
		}
		select { // the driver may know a node that this one is yet to meet
		case <-time.After(wait):
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
}

// patience bounds, by half, how long a node waits for one that others say is there.
const patience = 500 * time.Millisecond

// here returns the value of a version that the node has, nil if it has not.
func (s *store) here(r transport.Ref) versions.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[datum(r)]
	switch {
	case h == nil:
	case h.isHome(r):
		v, _ := h.home.value.(versions.Value)
		return v
	case h.home != nil && h.home.base != nil && h.home.baseRef == r:
		return h.home.base
	case h.ref == r && !h.on && h.err == nil:
		v, _ := h.value.(versions.Value)
		return v
	}
	return nil
}

// take has f called when the driver has a version, beside what the program's memory
// holds.
func (s *store) take(r transport.Ref, to *home, from []string, f func(error)) {
	fresh := func() (any, error) { return to.value.(versions.Value).Snapshot(), nil }
	if _, later, err := s.want(&operand{Ref: r}, from, true, false, fresh, then(f)); !later {
		f(err)
	}
}

// settle has f called when a version is in the program's memory, in place of what was
// there.
func (s *store) settle(r transport.Ref, to *home, from []string, f func(error)) {
	s.bring(r, to, from, true, false, then(f))
}

// bring tells w when a version is in the program's memory. What was there is kept
// elsewhere if it is the first to go, unless it need not be. It stays there until a task
// writes it: what cannot be executed elsewhere does so in the program's memory itself.
func (s *store) bring(r transport.Ref, to *home, from []string, reads, keeps bool, w waiter) {
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
		w.got(r, nil)
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
		var err error
		if v, ok := to.value.(versions.Value); ok && was != r {
			var base versions.Value
			if keeps && to.fixed && to.base == nil {
				base = v.Snapshot()
			}
			s.through.Drop(was)
			if base != nil {
				s.mu.Lock()
				to.base, to.baseRef = base, was
				s.mu.Unlock()
				s.publish(was, base)
			}
			switch {
			case !reads:
			case here != nil:
				v.Restore(here)
			default:
				err = s.copy(v, r, from)
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
		s.came(h, r, err)
	}()
}

// writes ends the version that a task is about to write over: nobody fetches it any more.
func (s *store) writes(r transport.Ref) {
	s.mu.Lock()
	h := s.held[datum(r)]
	s.changes(h)
	h.err = errNothing
	stays := h.isHome(r) && h.value != h.home.value
	s.mu.Unlock()
	if !stays {
		s.through.Drop(r)
	}
}

// written makes what a task has left in a datum its next version, which others can fetch
// before the driver hears of it.
func (s *store) written(r transport.Ref) {
	s.mu.Lock()
	h := s.held[datum(r)]
	r.Version++
	h.ref, h.err = r, nil
	if h.home != nil && h.value == h.home.value {
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
	if h.home == nil || h.value != h.home.value {
		s.grows(-bytesOf(h.value))
	}
	if h.home != nil {
		h.ref, h.value, h.err = h.home.ref, h.home.value, nil
		s.mu.Unlock()
		s.through.Drop(r)
		return
	}
	delete(s.held, datum(r))
	s.mu.Unlock()
	s.through.Drop(r) // which waits for those who read it
	s.spares(h.value)
}

// forget drops all of a job, or of a set of data. No task of it runs any more.
func (s *store) forget(job uint64) {
	s.mu.Lock()
	var all []transport.Ref
	for k, h := range s.held {
		if k.Job == job {
			all = append(all, h.ref)
			s.changes(h)
			if h.home == nil || h.value != h.home.value {
				s.grows(-bytesOf(h.value))
			}
			if h.home != nil {
				all = append(all, h.home.ref, h.home.baseRef)
			}
			delete(s.held, k)
		}
	}
	if len(s.held) == 0 {
		s.spare, s.spareBytes = nil, 0
	}
	s.mu.Unlock()
	for _, r := range all {
		s.through.Drop(r)
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
	s.mu.Unlock()
	for _, h := range all {
		s.through.Drop(h.ref)
		if h.home != nil {
			s.through.Drop(h.home.ref)
			s.through.Drop(h.home.baseRef)
		}
	}
}
