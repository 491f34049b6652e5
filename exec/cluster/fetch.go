package cluster

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// fetcher brings versions from other nodes.
type fetcher struct {
	values
	ctx    context.Context // the end of all fetches
	end    context.CancelFunc
	tokens chan struct{} // for fetches at once
	meter  *meter
	count  sync.WaitGroup // of fetchers, and of what is brought into the program's memory

	fetches  []fetch   // to be begun, in turn; mu guards it and what follows
	fetchers int       // goroutines that do so
	resting  int       // of these, those that have nothing to do
	more     sync.Cond // there is something to do, or the store is closed
}

// fetch is a version to be brought, under its name or another one.
type fetch struct {
	h       *held
	r, name transport.Ref
	from    givers
}

// fetch has a version brought, which those who wait for it are told of. As many goroutines
// do so as are of use: a goroutine for each would cost more than to fetch a small value.
func (s *fetcher) fetch(f fetch) {
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
func (s *fetcher) fetchAll() {
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
		c, err := s.copy(f.h.value.(versions.Value), f.name, f.from)
		if err == nil {
			s.publish(f.r, f.h.value)
		} else {
			s.through.Drop(f.r) // others may wait for it here
		}
		s.came(f.h, f.r, c, err)
	}
}

// came tells those who wait for a datum that it is there, and how it came, or why not.
func (s *fetcher) came(h *held, r transport.Ref, c came, err error) {
	s.mu.Lock()
	wants := h.wants
	h.on, h.err, h.wants = false, err, nil
	s.mu.Unlock()
	c.Ref = r
	for _, w := range wants {
		w.got(c, err)
	}
}

// copy copies a version into a value: from here, or from a node that has it, and says which.
func (s *fetcher) copy(into versions.Value, r transport.Ref, from givers) (c came, err error) {
	s.overwrites(into)
	if v := s.here(r); v != nil {
		into.Restore(v)
		return c, nil
	}
	first := ""
	for _, node := range from.From {
		if node != s.through.Self() {
			first = node
			break
		}
	}
	s.meter.awaits(originOf(first, r))
	giver, since, err := s.give(into, r, from)
	return s.meter.fetched(originOf(first, r), giver, into.Bytes(), since), err
}

// give has the first of some nodes that can give a version, and says which, and since when.
func (s *fetcher) give(into versions.Value, r transport.Ref, from givers) (giver string, since time.Time, err error) {
	select {
	case s.tokens <- struct{}{}:
		defer func() { <-s.tokens }()
	case <-s.ctx.Done():
		return "", since, context.Cause(s.ctx)
	}
	for wait := time.Millisecond; ; wait *= 2 {
		unreachable := false
		var err error
		for i, node := range from.From {
			if node == s.through.Self() {
				continue
			}
			since = time.Now()
			if from.Soon && i == 0 && wait == time.Millisecond {
				to := &timed{into, since}
				err = s.through.Fetch(s.ctx, node, r, soonMost, to)
				since = to.began
			} else {
				err = s.through.Fetch(s.ctx, node, r, 0, into)
			}
			if err == nil {
				return node, since, nil
			}
			var u *transport.UnreachableError
			unreachable = unreachable || errors.As(err, &u)
		}
		if err == nil {
			return "", since, &transport.NotHereError{Ref: r}
		}
		if !unreachable || wait > patience {
			return "", since, err
		}
		select { // the driver may know a node that this one is yet to meet
		case <-time.After(wait):
		case <-s.ctx.Done():
			return "", since, context.Cause(s.ctx)
		}
	}
}

// soonMost is how long a node waits at another one for what that is about to fetch.
const soonMost = 2 * time.Second

// timed is a value that notes when it begins to come.
type timed struct {
	versions.Value
	began time.Time
}

// Decode implements [versions.Value].
func (t *timed) Decode(r io.Reader) error {
	t.began = time.Now()
	return t.Value.Decode(r)
}

// patience bounds, by half, how long a node waits for one that others say is there.
const patience = 500 * time.Millisecond
