package cluster

import (
	"context"
	"runtime"
	"sync"

	"github.com/tessera-la/tessera/transport"
)

// outbox sends messages to one node, on a goroutine of its own, so that who adds one never
// waits. What is added while a message is on its way goes together as the
// next one. It grows by no more than others have asked for: tasks up to the capacity of a
// node, and their ends.
//
// Who holds no lock may send what is pending itself, if the node takes it at once:
//
//	add, by any ─► pending ─► send ─┐
//	                  └─────► flush ┴─► pass, one at a time ─► the transport
type outbox struct {
	mu        sync.Mutex      // a leaf
	more      sync.Cond       // there is more for send, or it is closed
	pending   []func() []byte // what is to be sent
	started   bool            // send runs: from the first message on, as new goroutines would grow their stacks anew
	busy      bool            // a message is being made, or sent: send waits
	closed    bool            // nothing is sent any more
	senders   sync.WaitGroup  // who sends
	to        string
	transport transport.Transport
	failed    func(error) // is told, once, that the node cannot be reached
	ctx       context.Context
	cancel    context.CancelFunc
}

// newOutbox returns an outbox that sends to a node.
func newOutbox(t transport.Transport, to string, failed func(error)) *outbox {
	o := &outbox{to: to, transport: t, failed: failed}
	o.more.L = &o.mu
	o.ctx, o.cancel = context.WithCancel(context.Background())
	return o
}

// add has a message sent, which is made when its turn comes: what it is to hold may have
// become more by then. A nil message is left out.
func (o *outbox) add(message func() []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.pending = append(o.pending, message)
		o.wake()
	}
}

// wake has send see to what is pending, unless somebody else does. The caller holds mu.
func (o *outbox) wake() {
	if len(o.pending) == 0 || o.busy {
		return
	}
	o.more.Signal()
	if !o.started {
		o.started = true
		o.senders.Go(o.send)
	}
}

// maxPrompt is how many messages flush sends at most.
const maxPrompt = 8

// flush adds a message, unless that is nil. If the node takes messages at once, and nobody sends one,
// it sends what is pending before it returns: send would have to get a core first. The caller holds no
// lock that is taken by making a message, or by failed.
func (o *outbox) flush(message func() []byte) {
	t, ok := o.transport.(transport.Prompt)
	ok = ok && t.Prompt(o.to)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if message != nil {
		o.pending = append(o.pending, message)
	}
	if n := len(o.pending); ok && n <= maxPrompt && !o.busy {
		o.senders.Add(1)
		defer o.senders.Done()
		for ; n > 0 && len(o.pending) > 0; n-- {
			o.sendFirst()
		}
	}
	o.wake()
}

// send sends what is pending, until the outbox is closed.
func (o *outbox) send() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if len(o.pending) > 0 { // there was a message before it: others may have more for this one
			o.mu.Unlock()
			runtime.Gosched()
			o.mu.Lock()
		}
		for (len(o.pending) == 0 || o.busy) && !o.closed {
			o.more.Wait()
		}
		if o.closed {
			return
		}
		o.sendFirst()
	}
}

// sendFirst makes the first message and sends it. If the node cannot be reached, what is pending is thrown
// away, and who owns the outbox is told. The caller holds mu, which is free meanwhile.
func (o *outbox) sendFirst() {
	message := o.pending[0]
	o.pending = o.pending[1:]
	o.busy = true
	o.mu.Unlock()
	var err error
	if m := message(); m != nil {
		err = o.transport.Send(o.ctx, o.to, m)
	}
	o.mu.Lock()
	o.busy = false
	if err != nil && !o.closed {
		o.closed, o.pending = true, nil
		o.more.Signal()
		o.mu.Unlock()
		o.failed(err)
		o.mu.Lock()
	}
}

// close sends nothing more, and waits for what is on its way.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed, o.pending = true, nil
	o.more.Signal()
	o.mu.Unlock()
	o.cancel()
	o.senders.Wait()
}
