package reliable

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// MessageLimit is the largest message, in bytes: what goes below with a header.
const MessageLimit = transport.MessageLimit - 1024

// node implements transport.Transport.
type node struct {
	t   transport.Transport
	opt Options

	handle  transport.Handler
	events  *transport.Events
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	closing sync.Once

	mu      sync.RWMutex // held before that of a peer
	peers   map[string]*peer
	started bool
	closed  bool // nothing is sent any more
}

// New returns a node that sends by t, which it owns, and which is not started yet. The
// error is an *OptionsError.
func New(t transport.Transport, opt Options) (transport.Transport, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	n := &node{t: t, opt: opt, peers: map[string]*peer{}, events: transport.NewEvents()}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n, nil
}

// Self implements [transport.Transport].
func (n *node) Self() string { return n.t.Self() }

// Nodes implements [transport.Transport].
func (n *node) Nodes() (names []string) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	for name, p := range n.peers {
		p.mu.Lock()
		if p.link != nil && p.link.theirs != 0 {
			names = append(names, name)
		}
		p.mu.Unlock()
	}
	slices.Sort(names)
	return names
}

// Start implements [transport.Transport]. The error is transport.ErrClosed, or that of the
// transport below.
func (n *node) Start(h transport.Handler, e func(transport.Event)) error {
	n.mu.Lock()
	if n.started || n.closed {
		n.mu.Unlock()
		return transport.ErrClosed
	}
	n.started, n.handle = true, h
	n.running.Go(func() { n.events.Tell(n.ctx.Done(), e) })
	n.running.Go(n.watch)
	n.mu.Unlock()
	return n.t.Start(n.receive, n.below)
}

// watch looks for nodes of which nothing is heard, until the end.
func (n *node) watch() {
	every := max(n.opt.Timeout/8, time.Millisecond)
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		pause := now.Sub(last) - every
		if pause < n.opt.Timeout/4 {
			pause = 0
		}
		last = now
		n.mu.RLock()
		for _, p := range n.peers {
			p.watch(now, pause)
		}
		n.mu.RUnlock()
	}
}

// peer returns another node, nil if it was never there.
func (n *node) peer(name string) *peer {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.peers[name]
}

// below takes an event of the transport below.
func (n *node) below(e transport.Event) {
	n.mu.Lock()
	p := n.peers[e.Node]
	if p == nil && !n.closed {
		p = newPeer(n, e.Node)
		n.peers[e.Node] = p
	}
	n.mu.Unlock()
	if p != nil {
		p.below(e)
	}
}

// receive takes a message of the transport below.
func (n *node) receive(from string, m []byte) {
	if from == n.Self() {
		n.handle(from, m)
		return
	}
	h, body, ok := parse(m)
	if p := n.peer(from); ok && p != nil {
		p.receive(h, body)
	}
}

// open reports whether the node takes part.
func (n *node) open() bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.started && !n.closed
}

// Send implements [transport.Transport].
func (n *node) Send(ctx context.Context, to string, message []byte) error {
	if len(message) > MessageLimit {
		return &transport.TooLargeError{Size: len(message), Limit: MessageLimit}
	}
	if !n.open() {
		return transport.ErrClosed
	}
	if to == n.Self() {
		return n.t.Send(ctx, to, message)
	}
	p := n.peer(to)
	if p == nil {
		return &transport.UnreachableError{Node: to}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return p.push(ctx, message)
}

// Publish implements [transport.Transport].
func (n *node) Publish(r transport.Ref, v versions.Value) { n.t.Publish(r, v) }

// Drop implements [transport.Transport].
func (n *node) Drop(r transport.Ref) { n.t.Drop(r) }

// Fetch implements [transport.Transport]. What fails is tried again for as long as the
// other node is there, and Options.Timeout at most.
func (n *node) Fetch(ctx context.Context, from string, r transport.Ref, await time.Duration, into versions.Value) error {
	if !n.open() {
		return transport.ErrClosed
	}
	end := time.Now().Add(n.opt.Timeout)
	for wait := time.Millisecond; ; wait = min(2*wait, n.opt.Timeout/8) {
		if from != n.Self() && !n.there(from) {
			return &transport.UnreachableError{Node: from}
		}
		err := n.t.Fetch(ctx, from, r, await, into)
		var sum *transport.ChecksumError
		var gone *transport.UnreachableError
		if err == nil || !errors.As(err, &sum) && !errors.As(err, &gone) || time.Now().Add(wait).After(end) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-n.ctx.Done():
			timer.Stop()
			return transport.ErrClosed
		case <-timer.C:
		}
	}
}

// there reports whether there is a session with a node.
func (n *node) there(name string) bool {
	p := n.peer(name)
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link != nil && p.link.theirs != 0
}

// Close implements [transport.Transport]. It waits for acknowledgements for a while.
func (n *node) Close() (err error) {
	n.closing.Do(func() {
		n.mu.Lock()
		n.closed = true
		var peers []*peer
		for _, p := range n.peers {
			peers = append(peers, p)
		}
		n.mu.Unlock()
		ctx, cancel := context.WithTimeout(n.ctx, n.opt.Linger)
		defer cancel()
		for _, p := range peers {
			p.flush(ctx)
		}
		n.cancel()
		err = n.t.Close()
	})
	n.running.Wait()
	return err
}
