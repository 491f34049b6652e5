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

// fetch is a value being received. Value.Decode reads from it; bytes outside of frames are received
// into Decode's memory.
type fetch struct {
	world  *libmpi.World
	comm   *libmpi.Comm
	from   int
	id     uint32
	stop   <-chan struct{} // the node closes
	gone   <-chan struct{} // the sender has left
	late   time.Duration   // how long MPI may take to cancel a receive from a lost node
	broken func(error)     // called if it does not

	mu     sync.Mutex    // a leaf
	parts  []frame       // received, and not read
	fail   error         // why no more arrive
	signal chan struct{} // there are more parts, or fail is set

	// Only the reader uses what follows.
	inline []byte // bytes to read next
	body   uint64 // bytes to receive next
	over   bool   // no further frame arrives
	sum    uint32 // the sender's checksum
	crc    uint32 // the checksum so far
}

var (
	// errShort says that a value ended early, or that MPI gave it up.
	errShort = errors.New("a value ended early")
	// errAbsent says that a value is not there.
	errAbsent = errors.New("not here")
	errHangs  = errors.New("MPI has not returned from a call for 30 s; a rank or its machine may be lost")
	errHeld   = errors.New("a rank was lost while it sent a value, and MPI does not give the memory for it back")
)

// put adds a frame.
func (f *fetch) put(x frame) {
	f.mu.Lock()
	f.parts = append(f.parts, x)
	f.mu.Unlock()
	f.wake()
}

// end says why no more frames arrive.
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
	err    error // why the value is wrong, or does not arrive
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

// take handles a frame.
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

// receive receives the next piece, directly into b if it is large enough.
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
