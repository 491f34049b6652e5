package mpi

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/mpi/internal/libmpi"
)

// fetch is a value that comes. It is the reader that Value.Decode reads from: what the
// other side sends outside of frames is received where Decode wants it.
type fetch struct {
	world  *libmpi.World
	comm   *libmpi.Comm
	from   int
	id     uint32
	stop   <-chan struct{} // the node closes
	gone   <-chan struct{} // the other side has left
	late   time.Duration   // how long MPI may take to give up a message of a node that has left
	broken func(error)     // is told that it does not

	mu     sync.Mutex    // a leaf
	parts  []frame       // that have come, and were not read
	fail   error         // why no more come
	signal chan struct{} // capacity 1: there is more, or fail is set

	// What follows is the reader's.
	inline []byte // that are to be read next
	body   uint64 // bytes that follow
	over   bool   // no frame comes any more
	sum    uint32 // that the bytes have to have
	crc    uint32 // that they have
}

var (
	// errShort is why a value does not come that ends early, or is given up by MPI.
	errShort = errors.New("a value ended early")
	// errAbsent is what a reader returns of a value that is not there.
	errAbsent = errors.New("not here")
	errHeld   = errors.New("a rank was lost while it sent a value, and MPI does not give the memory for it back")
)

// put gives the fetch a frame.
func (f *fetch) put(x frame) {
	f.mu.Lock()
	f.parts = append(f.parts, x)
	f.mu.Unlock()
	f.wake()
}

// end says why no more frames come.
func (f *fetch) end(why error) {
	f.mu.Lock()
	f.fail = why
	f.mu.Unlock()
	f.wake()
}

func (f *fetch) wake() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// reader reads a fetch, as long as ctx lasts and, unless it drains, the node is open.
type reader struct {
	*fetch
	ctx    context.Context
	drains bool
	err    error // what is wrong with what came, or why it does not
}

// Read implements [io.Reader].
func (r *reader) Read(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	for {
		switch {
		case len(r.inline) > 0:
			n = copy(b, r.inline)
			r.inline = r.inline[n:]
			r.crc = crc32.Update(r.crc, castagnoli, b[:n])
			return n, nil
		case r.body > 0:
			n, r.err = r.receive(b)
			return n, r.err
		case r.over:
			return 0, io.EOF
		}
		if r.err = r.next(); r.err != nil {
			return 0, r.err
		}
	}
}

// next takes the next frame.
func (r *reader) next() error {
	stop := r.stop
	if r.drains {
		stop = nil
	}
	for {
		r.mu.Lock()
		fail := r.fail
		if len(r.parts) > 0 {
			x := r.parts[0]
			r.parts = r.parts[1:]
			r.mu.Unlock()
			return r.take(x)
		}
		r.mu.Unlock()
		if fail != nil {
			r.over = true
			return fail
		}
		select {
		case <-r.signal:
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		case <-stop:
			return transport.ErrClosed
		}
	}
}

// take takes a frame.
func (r *reader) take(x frame) error {
	switch x.kind {
	case kindAbsent:
		r.over = true
		return errAbsent
	case kindFailed:
		r.over = true
		return fmt.Errorf("%s", x.payload)
	}
	r.inline, r.body, r.over, r.sum = x.payload, x.n, x.last, x.sum
	return nil
}

// receive receives the next piece of what follows: into b, if it is as large.
func (r *reader) receive(b []byte) (n int, err error) {
	size := int(min(r.body, libmpi.Piece))
	into := b
	if len(b) < size {
		into = make([]byte, size)
	}
	done := make(chan struct{})
	op := r.comm.Receive(into[:size], r.from, int(r.id), func(*libmpi.Op) { close(done) })
	select {
	case <-done:
	case <-r.gone:
		r.world.Cancel(op)
		select {
		case <-done:
		case <-time.After(r.late):
			r.broken(errHeld)
			<-done // until then the memory is not free
		}
	}
	switch {
	case op.Err != nil:
		return 0, op.Err
	case op.N != size:
		return 0, errShort
	}
	r.body -= uint64(size)
	if len(b) < size {
		r.inline = into
		n = copy(b, r.inline)
		r.inline = r.inline[n:]
	} else {
		n = size
	}
	r.crc = crc32.Update(r.crc, castagnoli, b[:n])
	return n, nil
}
