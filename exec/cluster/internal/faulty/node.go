package faulty

import (
	"bytes"
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// draws returns the random numbers of a pair of nodes.
func (n *Network) draws(from, to string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(from + "\x00" + to))
	return rand.New(rand.NewPCG(n.opt.Seed, h.Sum64()))
}

// Nodes implements [transport.Transport].
func (x *node) Nodes() (names []string) {
	x.net.mu.Lock()
	defer x.net.mu.Unlock()
	for name := range x.visible {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Start implements [transport.Transport]. The error is transport.ErrClosed.
func (x *node) Start(h transport.Handler, e func(transport.Event)) error {
	x.net.mu.Lock()
	if x.started || x.hasEnded() {
		x.net.mu.Unlock()
		return transport.ErrClosed
	}
	x.started, x.handle = true, h
	x.running.Go(func() { x.events.Tell(x.closed, e) })
	x.net.mu.Unlock()
	return x.below.Start(func(string, []byte) {}, x.event)
}

// event handles an event of the node below. It keeps the invariant of x.visible:
//
//	x sees another node only if that is present below, and not while the two are told that they are apart
//
// So a node that leaves below is no longer seen. One that joins below is seen at once; or if the two are told that
// they are apart, when Network.look finds the paths open again.
func (x *node) event(e transport.Event) {
	n := x.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if !e.Joined {
		delete(x.present, e.Node)
		if n.nodes[e.Node].crashed {
			e.Err = errCrashed
		}
		x.tellLeft(e.Node, e.Err)
		return
	}
	x.present[e.Node] = struct{}{}
	if s := n.apart[both(x.Self(), e.Node)]; s == nil || !s.told {
		x.tellJoined(e.Node)
	}
}

// link returns the link from a node, which may be this one. The caller holds Network.mu.
func (x *node) link(from *node) *link {
	l := x.links[from.Self()]
	if l == nil {
		l = &link{
			from: from, to: x, queue: make(chan *parcel, behind), dropped: make(chan struct{}),
			luck: x.net.draws(from.Self(), x.Self()),
		}
		x.links[from.Self()] = l
		x.running.Go(l.serve)
	}
	return l
}

// Send implements [transport.Transport]. It blocks while the queue of the link is full, until the receiver has handled
// a message, the link or one of the nodes has ended, or ctx has.
func (x *node) Send(ctx context.Context, to string, message []byte) error {
	if len(message) > transport.MessageLimit {
		return &transport.TooLargeError{Size: len(message), Limit: transport.MessageLimit}
	}
	n := x.net
	n.mu.Lock()
	y := n.nodes[to]
	_, visible := x.visible[to]
	switch {
	case !x.started || x.hasEnded():
		n.mu.Unlock()
		return transport.ErrClosed
	case to != x.Self() && !visible || y.hasEnded():
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
	case <-l.dropped:
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
	_, visible := x.visible[from]
	switch {
	case !x.started || x.hasEnded():
		n.mu.Unlock()
		return transport.ErrClosed
	case from == x.Self():
		n.mu.Unlock()
		return x.below.Fetch(ctx, from, r, wait, into)
	case !visible:
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
		_, valuesCut := n.valuesCut[pair{other, x.Self()}]
		open, changed := !valuesCut && n.open(x.Self(), other) && n.open(other, x.Self()), n.changed
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
