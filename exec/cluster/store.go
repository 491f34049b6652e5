package cluster

import (
	"context"
	"sync"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// store is the values of a job on a node. The order of tasks, which the driver keeps, is
// what makes it simple: a version is read by tasks that have it and written by nobody, or
// one task makes the next version of it in its place.
type store struct {
	through transport.Transport
	ctx     context.Context // the job's
	tokens  chan struct{}   // for fetches at once

	mu    sync.Mutex              // a leaf
	held  map[transport.Ref]*held // by the datum: its Ref with version 0
	count sync.WaitGroup          // of fetches
}

// held is a datum on a node. Its memory stays the same for all versions that come here,
// made or fetched.
type held struct {
	ref   transport.Ref // of the version that is there, or on its way
	value any           // a versions.Value, or what only the driver has
	own   bool          // it lies in the program's memory, and stays
	err   error         // why it did not come
	wants []func(error) // who waits for it; nil if it is there
	on    bool          // on its way
}

func newStore(ctx context.Context, t transport.Transport, tokens chan struct{}) *store {
	return &store{through: t, ctx: ctx, tokens: tokens, held: map[transport.Ref]*held{}}
}

// datum returns what a Ref and its later versions have in common.
func datum(r transport.Ref) transport.Ref {
	r.Version = 0
	return r
}

// adopt puts a value of the program into the store, as the first version of a datum, for
// others to fetch.
func (s *store) adopt(r transport.Ref, value any) {
	s.mu.Lock()
	s.held[datum(r)] = &held{ref: r, value: value, own: true}
	s.mu.Unlock()
	s.publish(r, value)
}

func (s *store) publish(r transport.Ref, value any) {
	if v, ok := value.(versions.Value); ok {
		s.through.Publish(r, v)
	}
}

// want has then called when a version of a datum is there: at once, or when it has been
// fetched from one of those who have it. Fresh makes the value if the node has none. If
// the version is only to be written, from is nil.
func (s *store) want(r transport.Ref, reads bool, from []string, fresh func() (any, error), then func(error)) (value any) {
	s.mu.Lock()
	h := s.held[datum(r)]
	if h == nil {
		v, err := fresh()
		if err != nil {
			s.mu.Unlock()
			then(err)
			return nil
		}
		h = &held{ref: r, value: v}
		h.ref.Version = r.Version - 1 // what a new value holds is no version
		s.held[datum(r)] = h
	}
	value = h.value
	switch {
	case !reads: // whatever it holds: the task makes a version of it
		old := h.ref
		h.ref = r
		s.mu.Unlock()
		if old != r {
			s.through.Drop(old)
		}
		then(nil)
	case h.ref == r && h.on:
		h.wants = append(h.wants, then)
		s.mu.Unlock()
	case h.ref == r && h.err == nil:
		s.mu.Unlock()
		then(nil)
	default:
		old := h.ref
		h.ref, h.on, h.err = r, true, nil
		h.wants = append(h.wants, then)
		s.count.Add(1)
		s.mu.Unlock()
		s.through.Drop(old)
		go s.fetch(h, r, from)
	}
	return value
}

// fetch brings a version, and tells those who wait for it.
func (s *store) fetch(h *held, r transport.Ref, from []string) {
	defer s.count.Done()
	var err error = &transport.NotHereError{Ref: r}
	select {
	case s.tokens <- struct{}{}:
		for _, node := range from {
			if err = s.through.Fetch(s.ctx, node, r, h.value.(versions.Value)); err == nil {
				break
			}
		}
		<-s.tokens
	case <-s.ctx.Done():
		err = context.Cause(s.ctx)
	}
	if err == nil {
		s.publish(r, h.value)
	}
	s.mu.Lock()
	wants := h.wants
	h.on, h.err, h.wants = false, err, nil
	s.mu.Unlock()
	for _, then := range wants {
		then(err)
	}
}

// writes ends the version that a task is about to write over: nobody fetches it any more.
func (s *store) writes(r transport.Ref) { s.through.Drop(r) }

// written makes what a task has left in a datum its next version, which others can fetch
// before the driver hears of it.
func (s *store) written(r transport.Ref) {
	s.mu.Lock()
	h := s.held[datum(r)]
	r.Version++
	h.ref, h.err = r, nil
	s.mu.Unlock()
	s.publish(r, h.value)
}

// drop forgets a version that nobody will read, and its memory. If the node has got
// another version since, it is that one's.
func (s *store) drop(r transport.Ref) {
	s.mu.Lock()
	h := s.held[datum(r)]
	if h == nil || h.ref != r || h.on || h.own {
		s.mu.Unlock()
		return
	}
	delete(s.held, datum(r))
	s.mu.Unlock()
	s.through.Drop(r)
}

// close drops everything. Nothing is fetched any more: the context has ended, or all has
// come.
func (s *store) close() {
	s.count.Wait()
	s.mu.Lock()
	all := s.held
	s.held = map[transport.Ref]*held{}
	s.mu.Unlock()
	for _, h := range all {
		s.through.Drop(h.ref)
	}
}
