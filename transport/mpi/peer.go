package mpi

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/mpi/internal/libmpi"
)

// peer is a node of the world, which may be this one.
//
//	unknown ──hello──► there ──bye, or silence──► left
type peer struct {
	rank int
	name string
	near bool // on this machine: the two processes wake each other
	comm *libmpi.Comm
	self bool
	// failed is called if MPI cannot send to it.
	failed func(*peer, error)

	turn      chan struct{} // capacity 1: held while a message is sent, to keep the order
	gone      chan struct{} // closed when it has left
	parted    chan struct{} // closed when it has acknowledged that this node leaves
	abandoned *atomic.Int64 // operations that MPI will not complete

	mu    sync.Mutex // libmpi's lock is taken under it
	there bool
	left  bool
	still bool      // no frame is sent to it any more
	heard time.Time // when a frame of it last arrived
	said  time.Time // when a frame was last sent to it
	out   outgoing
	in    incoming
	room  chan struct{} // capacity 1: out may have room
	inbox chan []byte   // nil until the first message

	arriving []*arrival // frames being received, in order; only the progress goroutine uses it
}

// arrival is a frame being received.
type arrival struct {
	b    []byte
	err  error
	done bool
}

// put sends a frame, and reports whether it could.
func (p *peer) put(f *frame) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.still {
		return false
	}
	if f.kind == kindGone {
		p.still = true
	}
	f.handled, f.bytes = p.in.tell()
	p.said = time.Now()
	p.comm.Send(f.encode(), p.rank, frameTag, func(o *libmpi.Op) {
		if o.Err != nil {
			go p.failed(p, o.Err) // the sender holds the lock
		}
	})
	return true
}

// isThere reports whether the node has joined, and has not left.
func (p *peer) isThere() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.there && !p.left
}

// joins notes that the node is there, and reports whether it was not before.
func (p *peer) joins() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := !p.there && !p.left
	p.there = true
	return news
}

// leaves notes that the node has left, and reports whether it was there before.
func (p *peer) leaves() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left {
		return false
	}
	p.left = true
	close(p.gone)
	return p.there
}

// mute stops sending to the node.
func (p *peer) mute() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.still = true
}

// hears notes a frame of the node.
func (p *peer) hears(f *frame, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = now
	if p.out.handled(f.handled, f.bytes) {
		select {
		case p.room <- struct{}{}:
		default:
		}
	}
}

// forgives excuses a time in which this process could hear no node.
func (p *peer) forgives(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = p.heard.Add(d)
}

// silence returns the times since a frame arrived from the node, and since one was sent to it.
func (p *peer) silence(now time.Time) (heard, said time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Sub(p.heard), now.Sub(p.said)
}

// send sends a message, in order and when the window has room.
func (p *peer) send(ctx context.Context, stop <-chan struct{}, message []byte) error {
	wait := func(c <-chan struct{}) error {
		select {
		case <-c:
			return nil
		case <-p.gone:
			return &transport.UnreachableError{Node: p.name}
		case <-stop:
			return transport.ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	select {
	case p.turn <- struct{}{}:
	case <-p.gone:
		return &transport.UnreachableError{Node: p.name}
	case <-stop:
		return transport.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.turn }()
	for {
		p.mu.Lock()
		ok := p.out.room()
		if ok {
			p.out.add(len(message))
		}
		p.mu.Unlock()
		if ok {
			break
		}
		if err := wait(p.room); err != nil {
			return err
		}
	}
	if !p.put(&frame{kind: kindMessage, payload: message}) {
		return &transport.UnreachableError{Node: p.name}
	}
	return nil
}

// handled notes that a message of n bytes was handled, and reports that to the node if it may wait
// for it.
func (p *peer) handled(n int) {
	p.mu.Lock()
	tell := p.in.add(n)
	p.mu.Unlock()
	if tell {
		p.put(&frame{kind: kindBeat})
	}
}
