package cluster

import (
	"context"
	"runtime"
	"sync"

	"github.com/tessera-la/tessera/transport"
)

// outbox sends messages to one node on a goroutine of its own, so that add never waits. While a message is on
// its way, what others add can go into one further message. The length of an outbox is bounded by what the
// other node has asked for: tasks up to its capacity, or their ends.
//
// A caller without locks may itself send, if the node takes messages at once:
//
//	add, by any ─► pending ─► send ──┐
//	                  └─────► flush ─┴─► sendFirst, one at a time ─► the transport
type outbox struct {
	mu        sync.Mutex      // a leaf
	more      sync.Cond       // signalled when there is more to send, or it is closed
	pending   []func() []byte // each makes a message
	started   bool            // the goroutine of send runs; it stays, since a new one would grow its stack anew
	busy      bool            // a message is being made or sent
	closed    bool            // nothing is sent any more
	senders   sync.WaitGroup  // goroutines in send and flush
	to        string
	transport transport.Transport
	failed    func(error) // called once, when the node cannot be reached
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

// add queues a message. The function message makes it when its turn comes, since by then it may contain more.
// If the function returns nil, nothing is sent.
func (o *outbox) add(message func() []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.pending = append(o.pending, message)
		o.wake()
	}
}

// wake wakes send if messages are pending, unless a message is on its way. The caller holds mu.
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

// maxPrompt bounds the messages that flush sends.
const maxPrompt = 8

// flush queues a message, unless it is nil. If the node takes messages at once and none is on its way, flush
// itself sends the pending messages, because the goroutine of send would first have to get a core. The caller
// holds no lock that a function in pending, or failed, takes.
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

// send sends messages until the outbox is closed.
func (o *outbox) send() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if len(o.pending) > 0 { // let other goroutines add to this message
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

// sendFirst makes and sends the first pending message. If the node cannot be reached, sendFirst drops the
// pending messages and calls failed. The caller holds mu; sendFirst unlocks it meanwhile.
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

// close sends nothing more and waits for the message on its way.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed, o.pending = true, nil
	o.more.Signal()
	o.mu.Unlock()
	o.cancel()
	o.senders.Wait()
}
