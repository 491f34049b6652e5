package faulty

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// port is a node of the transport below. It stays when its node crashes and another one
// takes its place. Network.mu guards it.
type port struct {
	net     *Network
	below   transport.Transport
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup // links, of nodes that have crashed too
	node    *node
	there   map[string]struct{} // nodes that are there below
	begun   bool                // below is started
	joined  bool                // node is started
	crashed bool
	closed  bool
}

// node implements transport.Transport.
type node struct {
	port    *port
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	events  *transport.Events

	mu     sync.Mutex // a leaf; guards what follows
	links  map[string]*link
	refs   map[transport.Ref]struct{} // what is published
	handle transport.Handler
	ended  bool
}

func newNode(p *port) *node {
	x := &node{port: p, events: transport.NewEvents(), links: map[string]*link{}, refs: map[transport.Ref]struct{}{}}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	return x
}

// Self implements [transport.Transport].
func (x *node) Self() string { return x.port.below.Self() }

// Nodes implements [transport.Transport].
func (x *node) Nodes() (names []string) {
	n := x.port.net
	n.mu.Lock()
	defer n.mu.Unlock()
	for name := range x.port.there {
		if n.up(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Start implements [transport.Transport]. The error is transport.ErrClosed, or that of the
// transport below.
func (x *node) Start(h transport.Handler, e func(transport.Event)) error {
	p, n := x.port, x.port.net
	n.mu.Lock()
	if p.node != x || p.joined || p.crashed || p.closed {
		n.mu.Unlock()
		return transport.ErrClosed
	}
	begun := p.begun
	p.begun, p.joined = true, true
	x.mu.Lock()
	x.handle = h
	x.running.Go(func() { x.events.Tell(x.ctx.Done(), e) })
	x.mu.Unlock()
	for name := range p.there { // after a restart
		if n.up(name) {
			x.events.Add(transport.Event{Node: name, Joined: true})
		}
	}
	for name, o := range n.ports {
		if _, ok := o.there[x.Self()]; ok && name != x.Self() {
			o.node.events.Add(transport.Event{Node: x.Self(), Joined: true})
		}
	}
	n.mu.Unlock()
	if begun {
		return nil
	}
	return p.below.Start(p.handle, p.event)
}

// event takes an event of the transport below.
func (p *port) event(e transport.Event) {
	n := p.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if e.Joined {
		p.there[e.Node] = struct{}{}
	} else {
		delete(p.there, e.Node)
	}
	if o := n.ports[e.Node]; o == nil || !o.crashed && o.joined {
		p.node.events.Add(e)
	}
}

// handle takes a message of the transport below.
func (p *port) handle(from string, message []byte) {
	p.net.mu.Lock()
	x, up := p.node, p.joined && !p.crashed && (from == p.below.Self() || p.net.up(from))
	p.net.mu.Unlock()
	if !up {
		p.net.counts.cutOff.Add(1)
		return
	}
	if from != p.below.Self() {
		if _, err := p.net.await(x.ctx, p.below.Self(), p.below.Self()); err != nil {
			return
		}
	}
	if x.ctx.Err() == nil {
		x.handle(from, message)
	}
}

// check returns why a node cannot be reached, nil if it is there.
func (x *node) check(to string) error {
	p, n := x.port, x.port.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.node != x || !p.joined || p.crashed || p.closed {
		return transport.ErrClosed
	}
	if _, ok := p.there[to]; to != x.Self() && (!ok || !n.up(to)) {
		return &transport.UnreachableError{Node: to}
	}
	return nil
}

// Send implements [transport.Transport]. It returns when the message is on its way.
func (x *node) Send(ctx context.Context, to string, message []byte) error {
	if len(message) > transport.MessageLimit {
		return &transport.TooLargeError{Size: len(message), Limit: transport.MessageLimit}
	}
	if err := x.check(to); err != nil {
		return err
	}
	if to == x.Self() {
		return x.port.below.Send(ctx, to, message)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return x.link(to).add(ctx, message)
}

// link returns the way of messages to another node.
func (x *node) link(to string) *link {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.links[to]
	if l == nil {
		l = newLink(x, to)
		x.links[to] = l
		if !x.ended {
			x.port.running.Add(1)
			go l.run()
		}
	}
	return l
}

// Publish implements [transport.Transport].
func (x *node) Publish(r transport.Ref, v versions.Value) {
	x.mu.Lock()
	ended := x.ended
	x.refs[r] = struct{}{}
	x.mu.Unlock()
	if !ended {
		x.port.below.Publish(r, v)
	}
}

// Drop implements [transport.Transport].
func (x *node) Drop(r transport.Ref) {
	x.mu.Lock()
	_, ok := x.refs[r]
	ok = ok || !x.ended // others may wait for it; or else it may be that of who came after
	delete(x.refs, r)
	x.mu.Unlock()
	if ok {
		x.port.below.Drop(r)
	}
}

// forget drops all that is published.
func (x *node) forget() {
	x.mu.Lock()
	refs := x.refs
	x.refs = map[transport.Ref]struct{}{}
	x.mu.Unlock()
	for r := range refs {
		x.port.below.Drop(r)
	}
}

// Fetch implements [transport.Transport].
func (x *node) Fetch(ctx context.Context, from string, r transport.Ref, wait time.Duration, into versions.Value) error {
	if err := x.check(from); err != nil {
		return err
	}
	if from == x.Self() {
		return x.port.below.Fetch(ctx, from, r, wait, into)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	n := x.port.net
	n.counts.fetches.Add(1)
	lost, damaged := x.link(from).fetchFate()
	if lost {
		n.counts.fetchesLost.Add(1)
		return &transport.UnreachableError{Node: from, Err: errLost}
	}
	pass := func() error {
		if err := n.awaitOpen(ctx, x.Self(), from); err != nil {
			if ctx.Err() != nil {
				return err
			}
			n.counts.fails.Add(1)
			return &transport.UnreachableError{Node: from, Err: err}
		}
		return nil
	}
	if err := pass(); err != nil {
		return err
	}
	target := into
	if damaged > 0 {
		target = &torn{into, int64(damaged)}
	}
	err := x.port.below.Fetch(ctx, from, r, wait, target)
	if gone := x.check(from); gone != nil { // meanwhile
		n.counts.fails.Add(1)
		return gone
	}
	if damaged > 0 && ctx.Err() == nil && !absent(err) {
		n.counts.fetchesDamaged.Add(1)
		return &transport.ChecksumError{Node: from, Ref: r}
	}
	if err == nil {
		err = pass()
	}
	return err
}

// absent reports whether a fetch has found nothing that could be damaged.
func absent(err error) bool {
	switch err.(type) {
	case *transport.NotHereError, *transport.UnreachableError:
		return true
	}
	return false
}

// errLost is why a fetch fails by chance.
var errLost = fmt.Errorf("the answer was lost")

// torn is a value of which only the first bytes come.
type torn struct {
	versions.Value
	n int64
}

// Decode implements [versions.Value].
func (t *torn) Decode(r io.Reader) error { return t.Value.Decode(io.LimitReader(r, t.n)) }

// end ends a node: nothing goes in or out any more. The caller holds Network.mu.
func (x *node) end() {
	x.cancel()
	x.mu.Lock()
	x.ended = true
	x.mu.Unlock()
}

// Close implements [transport.Transport]. A node whose place another one has taken has
// nothing left to close but its goroutines.
func (x *node) Close() error {
	p, n := x.port, x.port.net
	n.mu.Lock()
	last := p.node == x
	if last {
		p.closed = true
		p.cancel()
	}
	x.end()
	n.mu.Unlock()
	var err error
	if last {
		err = p.below.Close()
		p.running.Wait()
	}
	x.running.Wait()
	return err
}
