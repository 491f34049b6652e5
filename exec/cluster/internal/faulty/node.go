package faulty

import (
	"bytes"
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// behind is the number of messages of one node that another may have to handle.
const behind = 64

// node implements transport.Transport. Values and the presence of nodes come from the node of
// package transport below; messages do not.
type node struct {
	net     *Network
	below   transport.Transport
	events  *transport.Events
	handle  transport.Handler
	ended   chan struct{} // closed when the node crashes or is closed
	closed  chan struct{} // closed by Close; a crashed node still gets its events
	running sync.WaitGroup

	// Network.mu guards what follows.
	near    map[string]struct{}   // nodes that are present below
	there   map[string]struct{}   // nodes that this one sees
	links   map[string]*link      // to this node, by sender
	luck    map[string]*rand.Rand // random numbers for fetches, by the other node
	started bool
	crashed bool
}

// link holds the messages from one node to another, as long as they see each other.
type link struct {
	from, to *node
	queue    chan *parcel
	over     chan struct{} // closed when the messages held back are lost
	luck     *rand.Rand
	last     time.Time // when the last message arrives
}

// parcel is a message on its way.
type parcel struct {
	message []byte
	due     time.Time
}

// Node returns a new node, which joins when it is started. The error is a *transport.NameError.
func (n *Network) Node(name string) (transport.Transport, error) {
	below, err := n.below.Node(name)
	if err != nil {
		return nil, err
	}
	x := &node{
		net: n, below: below, events: transport.NewEvents(),
		ended: make(chan struct{}), closed: make(chan struct{}),
		near: map[string]struct{}{}, there: map[string]struct{}{},
		links: map[string]*link{}, luck: map[string]*rand.Rand{},
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[name] = x
	n.look()
	return x, nil
}

// draws returns the random numbers of a pair of nodes.
func (n *Network) draws(from, to string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(from + "\x00" + to))
	return rand.New(rand.NewPCG(n.opt.Seed, h.Sum64()))
}

// Self implements [transport.Transport].
func (x *node) Self() string { return x.below.Self() }

// Nodes implements [transport.Transport].
func (x *node) Nodes() (names []string) {
	x.net.mu.Lock()
	defer x.net.mu.Unlock()
	for name := range x.there {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// over reports whether the node has crashed or is closed. The caller holds Network.mu.
func (x *node) over() bool {
	select {
	case <-x.ended:
		return true
	default:
		return false
	}
}

// end ends the node. The caller holds Network.mu.
func (x *node) end() {
	if !x.over() {
		close(x.ended)
	}
}

// see lets the node see another one that is present. The caller holds Network.mu.
func (x *node) see(other string) {
	_, near := x.near[other]
	if _, seen := x.there[other]; near && !seen && !x.over() && !x.net.nodes[other].over() {
		x.there[other] = struct{}{}
		x.events.Add(transport.Event{Node: other, Joined: true})
	}
}

// unsee lets the node see another one leave. The caller holds Network.mu.
func (x *node) unsee(other string, err error) {
	if _, seen := x.there[other]; seen {
		delete(x.there, other)
		x.events.Add(transport.Event{Node: other, Err: err})
	}
}

// unlink drops the messages of another node that this one has not handled. The caller holds
// Network.mu.
func (x *node) unlink(from string) {
	if l := x.links[from]; l != nil {
		delete(x.links, from)
		close(l.over)
	}
}

// Start implements [transport.Transport]. The error is transport.ErrClosed.
func (x *node) Start(h transport.Handler, e func(transport.Event)) error {
	x.net.mu.Lock()
	if x.started || x.over() {
		x.net.mu.Unlock()
		return transport.ErrClosed
	}
	x.started, x.handle = true, h
	x.running.Go(func() { x.events.Tell(x.closed, e) })
	x.net.mu.Unlock()
	return x.below.Start(func(string, []byte) {}, x.event)
}

// event handles an event of the node below.
func (x *node) event(e transport.Event) {
	n := x.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if !e.Joined {
		delete(x.near, e.Node)
		if n.nodes[e.Node].crashed {
			e.Err = errCrashed
		}
		x.unsee(e.Node, e.Err)
		return
	}
	x.near[e.Node] = struct{}{}
	if s := n.apart[both(x.Self(), e.Node)]; s == nil || !s.seen {
		x.see(e.Node)
	}
}

// link returns the link from a node, which may be this one. The caller holds Network.mu.
func (x *node) link(from *node) *link {
	l := x.links[from.Self()]
	if l == nil {
		l = &link{
			from: from, to: x, queue: make(chan *parcel, behind), over: make(chan struct{}),
			luck: x.net.draws(from.Self(), x.Self()),
		}
		x.links[from.Self()] = l
		x.running.Go(l.serve)
	}
	return l
}

// serve passes messages to the handler when they have arrived and while the path is open, until the
// end.
func (l *link) serve() {
	for {
		select {
		case p := <-l.queue:
			if !l.wait(time.Until(p.due)) || !l.passes() {
				return
			}
			l.to.handle(l.from.Self(), p.message)
		case <-l.over:
			return
		case <-l.to.ended:
			return
		}
	}
}

// wait waits for a time, and reports whether the link is still there.
//
// A message that is due gets no timer: under the race detector, Go 1.26 crashes now and then where
// two goroutines of one synctest bubble run timers, and a goroutine runs the one it waits for if
// that is due.
func (l *link) wait(d time.Duration) bool {
	if d <= 0 {
		return !l.lost()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.over:
	case <-l.to.ended:
	}
	return false
}

// passes waits until the path is open, and reports whether the link is still there.
func (l *link) passes() bool {
	n := l.to.net
	for {
		n.mu.Lock()
		open, changed := l.from == l.to || n.open(l.from.Self(), l.to.Self()), n.changed
		n.mu.Unlock()
		if !open {
			select {
			case <-changed:
				continue
			case <-l.over:
			case <-l.to.ended:
			}
			return false
		}
		return !l.lost()
	}
}

// lost reports whether the link has ended.
func (l *link) lost() bool {
	select {
	case <-l.over:
		return true
	case <-l.to.ended:
		return true
	default:
		return false
	}
}

// Send implements [transport.Transport].
func (x *node) Send(ctx context.Context, to string, message []byte) error {
	if len(message) > transport.MessageLimit {
		return &transport.TooLargeError{Size: len(message), Limit: transport.MessageLimit}
	}
	n := x.net
	n.mu.Lock()
	y := n.nodes[to]
	_, there := x.there[to]
	switch {
	case !x.started || x.over():
		n.mu.Unlock()
		return transport.ErrClosed
	case to != x.Self() && !there || y.over():
		n.mu.Unlock()
		return &transport.UnreachableError{Node: to}
	case ctx.Err() != nil:
		n.mu.Unlock()
		return context.Cause(ctx)
	}
	l := y.link(x)
	p := &parcel{message: bytes.Clone(message), due: time.Now()}
	if n.opt.Delay > 0 && y != x {
		d := time.Duration(l.luck.Int64N(int64(n.opt.Delay)))
		if l.luck.IntN(50) == 0 {
			d *= 20
		}
		if p.due = p.due.Add(d); p.due.Before(l.last) {
			p.due = l.last
		}
		l.last = p.due
	}
	n.mu.Unlock()
	select {
	case l.queue <- p:
		return nil
	case <-l.over:
		return &transport.UnreachableError{Node: to, Err: errSilent}
	case <-y.ended:
		return &transport.UnreachableError{Node: to}
	case <-x.ended:
		return transport.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Publish implements [transport.Transport].
func (x *node) Publish(r transport.Ref, v versions.Value) { x.below.Publish(r, v) }

// Drop implements [transport.Transport].
func (x *node) Drop(r transport.Ref) { x.below.Drop(r) }

// Fetch implements [transport.Transport].
func (x *node) Fetch(ctx context.Context, from string, r transport.Ref, wait time.Duration, into versions.Value) error {
	n := x.net
	n.mu.Lock()
	_, there := x.there[from]
	switch {
	case !x.started || x.over():
		n.mu.Unlock()
		return transport.ErrClosed
	case from == x.Self():
		n.mu.Unlock()
		return x.below.Fetch(ctx, from, r, wait, into)
	case !there:
		n.mu.Unlock()
		return &transport.UnreachableError{Node: from}
	}
	luck := x.luck[from]
	if luck == nil {
		luck = n.draws(from, x.Self()+"\x00values")
		x.luck[from] = luck
	}
	fate := luck.Float64()
	n.mu.Unlock()
	switch err := x.reaches(ctx, from); {
	case err != nil:
		return err
	case fate < n.opt.FetchLoss:
		return &transport.UnreachableError{Node: from, Err: errSilent}
	case fate < n.opt.FetchLoss+n.opt.FetchDamage:
		return &transport.ChecksumError{Node: from, Ref: r}
	}
	return x.below.Fetch(ctx, from, r, wait, into)
}

// reaches waits until the paths to and from another node are open, for at most Options.Patience.
func (x *node) reaches(ctx context.Context, other string) error {
	n := x.net
	patience := time.NewTimer(n.opt.Patience)
	defer patience.Stop()
	for {
		n.mu.Lock()
		_, large := n.large[pair{other, x.Self()}]
		open, changed := !large && n.open(x.Self(), other) && n.open(other, x.Self()), n.changed
		n.mu.Unlock()
		if open {
			return nil
		}
		select {
		case <-changed:
		case <-patience.C:
			return &transport.UnreachableError{Node: other, Err: errSilent}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-x.ended:
			return transport.ErrClosed
		}
	}
}

// Close implements [transport.Transport].
func (x *node) Close() error {
	x.net.mu.Lock()
	x.end()
	select {
	case <-x.closed:
	default:
		close(x.closed)
	}
	x.net.mu.Unlock()
	err := x.below.Close()
	x.running.Wait()
	return err
}
