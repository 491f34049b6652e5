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

// Published is the values that a node has published, for implementations of [Transport].
type Published struct {
	mu     sync.Mutex // a leaf
	values map[Ref]*shelf
	free   []*shelf         // for other values
	due    map[Ref]*waiting // what is awaited
}

// waiting is those who wait for a value.
type waiting struct {
	many int
	news chan struct{} // closed when it is there, or will not be
}

// shelf is a value that others may read.
type shelf struct {
	value   versions.Value
	readers sync.WaitGroup
	done    func()        // readers.Done
	turn    chan struct{} // of capacity 1: of a large value, full while somebody reads it
}

// A value of inTurn bytes or more goes to one node after the other, so that the first to have it
// can give it to others while this one serves the next. Nobody waits for its turn for longer
// than turnMost: who reads may have stopped.
const (
	inTurn   = 64 << 10
	turnMost = time.Second
)

// spareShelves is how many shelves are kept for other values.
const spareShelves = 256

// Put publishes a value, in place of that which was there.
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

// wake has those who wait for a value look whether it is there. The caller holds mu.
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

// clear waits for those who read what is on a shelf that nobody else can find any more, if
// there is one.
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

// Drop takes a value back, and waits for those who read it. Nobody waits for it any more.
func (p *Published) Drop(r Ref) {
	p.mu.Lock()
	s := p.values[r]
	delete(p.values, r)
	p.wake(r)
	p.mu.Unlock()
	p.clear(s)
}

// Read returns a value that is published, nil if it is not, until done is called. One that may be
// yet to come it waits for: for so long, until ctx ends, over is closed, or Drop says that it
// will not come. Large values are read by one after the other.
func (p *Published) Read(ctx context.Context, over <-chan struct{}, r Ref, wait time.Duration) (v versions.Value, done func()) {
	p.mu.Lock()
	if p.values[r] == nil && wait > 0 {
		p.await(ctx, over, r, wait)
	}
	s := p.values[r]
	if s == nil {
		p.mu.Unlock()
		return nil, nil
	}
	s.readers.Add(1) // while it is published, so that drop has not begun to wait
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

// castagnoli is the polynomial that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// summing is a reader or writer that takes the checksum of what passes through it.
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
