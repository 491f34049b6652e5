package transport

import (
	"hash"
	"hash/crc32"
	"io"
	"sync"

	"github.com/tessera-la/tessera/versions"
)

// Published is the values that a node has published, for who implements a [Transport].
type Published struct {
	mu     sync.Mutex // a leaf
	values map[Ref]*shelf
	free   []*shelf // for other values
}

// shelf is a value that others may read.
type shelf struct {
	value   versions.Value
	readers sync.WaitGroup
	done    func() // readers.Done
}

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
	p.mu.Unlock()
	p.clear(old)
}

// shelf returns an empty shelf. The caller holds mu.
func (p *Published) shelf() *shelf {
	if n := len(p.free); n > 0 {
		s := p.free[n-1]
		p.free = p.free[:n-1]
		return s
	}
	s := &shelf{}
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

// Drop takes a value back, and waits for those who read it.
func (p *Published) Drop(r Ref) {
	p.mu.Lock()
	s := p.values[r]
	delete(p.values, r)
	p.mu.Unlock()
	p.clear(s)
}

// Read returns a value that is published, nil if it is not, until done is called.
func (p *Published) Read(r Ref) (v versions.Value, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.values[r]
	if s == nil {
		return nil, nil
	}
	s.readers.Add(1) // while it is published, so that drop has not begun to wait
	return s.value, s.done
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
