package transport

import (
	"context"
	"hash"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"github.com/tessera-la/tessera/versions"
)

// Published holds the values that a node has published, for implementations of [Transport].
type Published struct {
	mu     sync.Mutex // a leaf
	values map[Ref]*shelf
	free   []*shelf         // unused ones
	due    map[Ref]*waiting // values that fetches wait for
}

// waiting is the fetches that wait for a value.
type waiting struct {
	many int
	news chan struct{} // closed when the value is there, or will not be
}

// shelf is a published value and its readers.
type shelf struct {
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

// spareShelves bounds the unused shelves that are kept.
const spareShelves = 256

// Put publishes a value in place of the present one, if there is one.
func (p *Published) Put(r Ref, v versions.Value) {
	p.mu.Lock()
	old := p.values[r]
	if p.values == nil {
		p.values = map[Ref]*shelf{}
	}
	s := p.shelf()
	s.value = v
	p.values[r] = s
	p.wake(r)
	p.mu.Unlock()
	p.clear(old)
}

// wake wakes the fetches that wait for a value. The caller holds mu.
func (p *Published) wake(r Ref) {
	if w := p.due[r]; w != nil {
		delete(p.due, r)
		close(w.news)
	}
}

// shelf returns an empty shelf. The caller holds mu.
func (p *Published) shelf() *shelf {
	if n := len(p.free); n > 0 {
		s := p.free[n-1]
		p.free = p.free[:n-1]
		return s
	}
	s := &shelf{turn: make(chan struct{}, 1)}
	s.done = s.readers.Done
	return s
}

// clear waits for the readers of a shelf that is not in values any more, and keeps it for another
// value. s may be nil.
func (p *Published) clear(s *shelf) {
	if s == nil {
		return
	}
	s.readers.Wait()
	s.value = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < spareShelves {
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
	w := p.due[r]
	if w == nil {
		if p.due == nil {
			p.due = map[Ref]*waiting{}
		}
		w = &waiting{news: make(chan struct{})}
		p.due[r] = w
	}
	w.many++
	p.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.news:
	case <-timer.C:
	case <-ctx.Done():
	case <-over:
	}
	p.mu.Lock()
	if w.many--; w.many == 0 && p.due[r] == w {
		delete(p.due, r)
	}
}

// castagnoli is the CRC polynomial for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// summing is a reader or writer that computes the checksum of the bytes that pass through it.
type summing struct {
	r   io.Reader
	w   io.Writer
	sum hash.Hash32
}

func newSumming(r io.Reader, w io.Writer) *summing {
	return &summing{r: r, w: w, sum: crc32.New(castagnoli)}
}

// Read implements [io.Reader].
func (s *summing) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.sum.Write(b[:n])
	return n, err
}

// Write implements [io.Writer].
func (s *summing) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.sum.Write(b[:n])
	return n, err
}
