package mpi

import (
	"errors"
	"hash/crc32"
	"unsafe"

	"github.com/tessera-la/tessera/transport/mpi/internal/libmpi"
	"github.com/tessera-la/tessera/versions"
)

// direct is the size in bytes from which on a write of Value.Encode is sent from its own memory.
// Smaller writes are collected and go with a frame, which has at most gathered bytes.
const (
	direct   = 32 << 10
	gathered = 1 << 20
)

// answer is the writer for the encoding of a fetched value.
type answer struct {
	p      *peer
	id     uint32
	stored *versions.Memory // memory of a value that does not change until the end
	buf    []byte           // bytes for the next frame
	sum    uint32
	on     []chan struct{} // closed when MPI has sent from that memory
}

// errGone says that a node has left.
var errGone = errors.New("the node has left")

// newAnswer returns the writer for a fetch of p.
func newAnswer(p *peer, id uint32, v versions.Value) *answer {
	a := &answer{p: p, id: id}
	if s, ok := v.(versions.Stored); ok {
		m := s.Memory()
		a.stored = &m
	}
	return a
}

// Write implements [io.Writer].
func (a *answer) Write(b []byte) (int, error) {
	if len(b) < direct {
		a.sum = crc32.Update(a.sum, castagnoli, b)
		a.buf = append(a.buf, b...)
		if len(a.buf) < gathered {
			return len(b), nil
		}
		return len(b), a.flush(frame{})
	}
	if err := a.flush(frame{n: uint64(len(b))}); err != nil {
		return 0, err
	}
	for rest := b; len(rest) > 0; {
		k := min(len(rest), libmpi.Piece)
		done := make(chan struct{})
		a.p.comm.Send(rest[:k], a.p.rank, int(a.id), func(*libmpi.Op) { close(done) })
		a.on, rest = append(a.on, done), rest[k:]
	}
	a.sum = crc32.Update(a.sum, castagnoli, b) // computed while MPI sends
	if a.keeps(b) {
		return len(b), nil
	}
	return len(b), a.wait()
}

// keeps reports whether b is a part of the value, and not of a buffer that will be reused.
func (a *answer) keeps(b []byte) bool {
	m := a.stored
	if m == nil || m.Rows == 0 {
		return false
	}
	first, at := uintptr(m.Data), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	end := first + uintptr(int64(m.Rows-1)*m.Pitch+m.Width)
	return at >= first && at+uintptr(len(b)) <= end
}

// flush sends a frame of the value with the collected bytes.
func (a *answer) flush(f frame) error {
	f.kind, f.id, f.payload = kindPart, a.id, a.buf
	a.buf = a.buf[:0] // a frame is a copy
	if !a.p.put(&f) {
		return errGone
	}
	return nil
}

// wait waits until MPI has sent from the value's memory. If the receiver has left, nobody reads it
// any more, whatever MPI still holds.
func (a *answer) wait() error {
	for _, done := range a.on {
		select {
		case <-done:
		case <-a.p.gone:
			select {
			case <-done:
			default:
				a.p.abandoned.Add(1)
				return errGone
			}
		}
	}
	a.on = a.on[:0]
	return nil
}

// serve sends a value to the node that has asked for it, and returns when nothing reads the value
// any more.
func (p *peer) serve(id uint32, v versions.Value) {
	a := newAnswer(p, id, v)
	err := v.Encode(a)
	switch {
	case errors.Is(err, errGone):
	case err != nil:
		p.put(&frame{kind: kindFailed, id: id, payload: []byte(err.Error())})
	default:
		_ = a.flush(frame{last: true, sum: a.sum})
	}
	_ = a.wait()
}
