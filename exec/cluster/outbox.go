package cluster

import (
	"context"
	"runtime"
	"sync"

	"github.com/tessera-la/tessera/transport"
)

// outbox sends messages to one node, on a goroutine of its own, so that who has something
// to say never waits. What is added while a message is on its way goes together as the
// next one. It grows by no more than others have asked for: tasks up to the capacity of a
// node, and their ends.
type outbox struct {
	mu      sync.Mutex      // a leaf
	more    sync.Cond       // there is more to be sent, or it is closed
	pending []func() []byte // what is to be sent
	sends   bool            // send runs: from the first message on, as new goroutines would grow their stacks anew
	closed  bool            // nothing is sent any more
	done    sync.WaitGroup
	to      string
	through transport.Transport
	failed  func(error) // is told, once, that the node cannot be reached
	ctx     context.Context
	cancel  context.CancelFunc
}

// newOutbox returns an outbox that sends to a node.
func newOutbox(t transport.Transport, to string, failed func(error)) *outbox {
	o := &outbox{to: to, through: t, failed: failed}
	o.more.L = &o.mu
	o.ctx, o.cancel = context.WithCancel(context.Background())
	return o
}

// add has a message sent, which is made when its turn comes: what it is to hold may have
// become more by then. A nil message is left out.
func (o *outbox) add(message func() []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.pending = append(o.pending, message)
	o.more.Signal()
	if !o.sends {
		o.sends = true
		o.done.Go(o.send)
	}
}

// send sends what there is, until the outbox is closed. If the node cannot be reached, what there
// is is thrown away, and who owns the outbox is told.
func (o *outbox) send() {
	for {
		o.mu.Lock()
		if len(o.pending) > 0 { // there was a message before it: others may have more for this one
			o.mu.Unlock()
			runtime.Gosched()
			o.mu.Lock()
		}
		for len(o.pending) == 0 && !o.closed {
			o.more.Wait()
		}
		if o.closed {
			o.mu.Unlock()
			return
		}
		message := o.pending[0]
		o.pending = o.pending[1:]
		o.mu.Unlock()
		m := message()
		if m == nil {
			continue
		}
		if err := o.through.Send(o.ctx, o.to, m); err != nil {
			o.mu.Lock()
			again := o.closed
			o.closed, o.pending = true, nil
			o.mu.Unlock()
			if !again {
				o.failed(err)
			}
			return
		}
	}
}

// close sends nothing more, and waits for what is on its way.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed, o.pending = true, nil
	o.more.Signal()
	o.mu.Unlock()
	o.cancel()
	o.done.Wait()
}
