package transport

import (
	"context"
	"sync"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// Published holds the values that a node has published, for implementations of [Transport].
type Published struct {
	mu      sync.Mutex // a leaf
	values  map[Ref]*entry
	free    []*entry         // unused ones
	awaited map[Ref]*waiting // values that fetches wait for
}

// waiting is the fetches that wait for a value.
type waiting struct {
	fetches int
	settled chan struct{} // closed when the value is there, or will not be
}

// entry is a published value and its readers.
//
//	free ─► Put: readers come and go ─► Drop, or Put of another value: the last reader ends ─► free
type entry struct {
	value   versions.Value
	readers sync.WaitGroup
	done    func()        // readers.Done
	turn    chan struct{} // capacity 1: full while a large value is being read
}

// A value of inTurn bytes or more goes to one node after the other, so that the first node to have
// it can give it to others while this one serves the next. A reader waits for its turn for at most
// turnMost: the one before it may have stopped.
const (
	inTurn   = 64 << 10
	turnMost = time.Second
)

// spareEntries bounds the unused entries that are kept.
const spareEntries = 256

// Put publishes a value in place of the present one, if there is one.
func (p *Published) Put(r Ref, v versions.Value) {
	p.mu.Lock()
	old := p.values[r]
	if p.values == nil {
		p.values = map[Ref]*entry{}
	}
	s := p.newEntry()
	s.value = v
	p.values[r] = s
	p.wake(r)
	p.mu.Unlock()
	p.clear(old)
}

// wake wakes the fetches that wait for a value. The caller holds mu.
func (p *Published) wake(r Ref) {
	if w := p.awaited[r]; w != nil {
		delete(p.awaited, r)
		close(w.settled)
	}
}

// newEntry returns an empty entry. The caller holds mu.
func (p *Published) newEntry() *entry {
	if n := len(p.free); n > 0 {
		s := p.free[n-1]
		p.free = p.free[:n-1]
		return s
	}
	s := &entry{turn: make(chan struct{}, 1)}
	s.done = s.readers.Done
	return s
}

// clear waits for the readers of an entry that is not in values any more, and keeps it for another
// value. s may be nil.
func (p *Published) clear(s *entry) {
	if s == nil {
		return
	}
	s.readers.Wait()
	s.value = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < spareEntries {
		p.free = append(p.free, s)
	}
}

// Drop removes a value, waits for its readers, and ends fetches that wait for it.
func (p *Published) Drop(r Ref) {
	p.mu.Lock()
	s := p.values[r]
	delete(p.values, r)
	p.wake(r)
	p.mu.Unlock()
	p.clear(s)
}

// Read returns a published value, nil if there is none, for use until done is called. It waits for
// a value that is not published for at most wait, until ctx ends, over is closed, or Drop says that
// it will not come. Large values are read by one reader after the other.
func (p *Published) Read(ctx context.Context, over <-chan struct{}, r Ref, wait time.Duration) (v versions.Value,
	done func()) {
	p.mu.Lock()
	if p.values[r] == nil && wait > 0 {
		p.await(ctx, over, r, wait)
	}
	s := p.values[r]
	if s == nil {
		p.mu.Unlock()
		return nil, nil
	}
	s.readers.Add(1) // counted while it is published: clear has not begun to wait
	v = s.value
	p.mu.Unlock()
	if v.Bytes() < inTurn {
		return v, s.done
	}
	last := func() { <-s.turn; s.done() }
	select {
	case s.turn <- struct{}{}:
		return v, last
	default:
	}
	timer := time.NewTimer(turnMost)
	defer timer.Stop()
	select {
	case s.turn <- struct{}{}:
		return v, last
	case <-timer.C:
	case <-ctx.Done():
	case <-over:
	}
	return v, s.done
}

// await waits for a value that is not there. The caller holds mu, which is free meanwhile.
func (p *Published) await(ctx context.Context, over <-chan struct{}, r Ref, wait time.Duration) {
	w := p.awaited[r]
	if w == nil {
		if p.awaited == nil {
			p.awaited = map[Ref]*waiting{}
		}
		w = &waiting{settled: make(chan struct{})}
		p.awaited[r] = w
	}
	w.fetches++
	p.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.settled:
	case <-timer.C:
	case <-ctx.Done():
	case <-over:
	}
	p.mu.Lock()
	if w.fetches--; w.fetches == 0 && p.awaited[r] == w {
		delete(p.awaited, r)
	}
}
