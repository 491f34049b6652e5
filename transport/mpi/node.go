package mpi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/mpi/internal/libmpi"
	"github.com/tessera-la/tessera/versions"
)

// node implements transport.Transport.
type node struct {
	shared *shared
	comm   *libmpi.Comm
	opt    Options
	rank   int
	peers  []*peer // by rank, including this node
	named  map[string]*peer
	slots  chan uint32 // free tags of fetches
	values transport.Published

	handle transport.Handler
	events *transport.Events

	ctx     context.Context // ends everything except transfers that must be completed
	cancel  context.CancelFunc
	once    sync.Once
	running sync.WaitGroup // handlers and the event goroutine
	serving sync.WaitGroup // values being sent, and receives to be completed

	mu      sync.Mutex // a leaf
	started bool
	closing bool // no new requests are served
	fetches map[uint32]*fetch

	active atomic.Bool // progress polls its messages
	ticked time.Time   // last tick; only the progress goroutine uses it
}

func newNode(s *shared, c *libmpi.Comm, size int, opt Options) *node {
	n := &node{shared: s, comm: c, opt: opt, rank: s.lib.Rank, slots: make(chan uint32, fetches),
		named: map[string]*peer{}, fetches: map[uint32]*fetch{}, events: transport.NewEvents()}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	for i := range fetches {
		n.slots <- uint32(i + 1)
	}
	for rank := range size {
		p := &peer{
			rank: rank, name: s.name(rank), near: s.lib.Near(rank), comm: c, self: rank == n.rank, failed: n.lose,
			abandoned: &s.abandoned,
			turn:      make(chan struct{}, 1), gone: make(chan struct{}), parted: make(chan struct{}),
			room: make(chan struct{}, 1),
		}
		n.peers, n.named[p.name] = append(n.peers, p), p
	}
	return n
}

// Self implements [transport.Transport].
func (n *node) Self() string { return n.peers[n.rank].name }

// Nodes implements [transport.Transport].
func (n *node) Nodes() (names []string) {
	for _, p := range n.peers {
		if !p.self && p.isThere() {
			names = append(names, p.name)
		}
	}
	slices.Sort(names)
	return names
}

// Start implements [transport.Transport]. The error is transport.ErrClosed.
func (n *node) Start(h transport.Handler, e func(transport.Event)) error {
	n.mu.Lock()
	ok := !n.started && !n.closing
	if ok {
		n.started, n.handle = true, h
	}
	n.mu.Unlock()
	if !ok || n.shared.over.Load() {
		return transport.ErrClosed
	}
	n.peers[n.rank].joins()
	n.active.Store(true)
	n.shared.lib.Wake()
	n.running.Go(func() { n.events.Tell(n.ctx.Done(), e) })
	for _, p := range n.peers {
		if !p.self {
			p.put(&frame{kind: kindHello})
		}
	}
	return nil
}

// open reports whether the node was started, and is not closed.
func (n *node) open() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.started && !n.closing
}

// find returns a node that is there, which may be this one. The error is an *UnreachableError, or
// ErrClosed.
func (n *node) find(name string) (*peer, error) {
	if !n.open() {
		return nil, transport.ErrClosed
	}
	if p := n.named[name]; p != nil && p.isThere() {
		return p, nil
	}
	return nil, &transport.UnreachableError{Node: name}
}

// Send implements [transport.Transport].
func (n *node) Send(ctx context.Context, to string, message []byte) error {
	if len(message) > transport.MessageLimit {
		return &transport.TooLargeError{Size: len(message), Limit: transport.MessageLimit}
	}
	p, err := n.find(to)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return p.send(ctx, n.ctx.Done(), message)
}

// Prompt implements [transport.Prompt].
func (n *node) Prompt(to string) bool {
	p, err := n.find(to)
	if err != nil || len(p.turn) > 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.prompt()
}

// Publish implements [transport.Transport].
func (n *node) Publish(r transport.Ref, v versions.Value) { n.values.Put(r, v) }

// Drop implements [transport.Transport].
func (n *node) Drop(r transport.Ref) { n.values.Drop(r) }

// Fetch implements [transport.Transport].
func (n *node) Fetch(ctx context.Context, from string, r transport.Ref, wait time.Duration, into versions.Value) error {
	p, err := n.find(from)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f, err := n.begin(ctx, p)
	if err != nil {
		return err
	}
	in := &reader{fetch: f, ctx: ctx}
	if !p.put(&frame{kind: kindWant, id: f.id, n: uint64(max(wait, 0)), payload: encodeRef(r)}) {
		n.end(f)
		return &transport.UnreachableError{Node: from}
	}
	err = into.Decode(in)
	if err == nil {
		_, err = io.Copy(io.Discard, in) // bytes that Decode leaves are wrong, and count for the checksum
	}
	switch {
	case in.err == errAbsent:
		err = &transport.NotHereError{Node: from, Ref: r}
	case in.err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(in.err, transport.ErrClosed):
		err = transport.ErrClosed
	case in.err != nil:
		if of := (*libmpi.Error)(nil); errors.As(in.err, &of) {
			n.lose(p, of)
		}
		err = &transport.UnreachableError{Node: from, Err: in.err}
	case err == nil && f.crc != f.sum:
		err = &transport.ChecksumError{Node: from, Ref: r}
	}
	n.drain(f)
	return err
}

// begin returns a new fetch from p.
func (n *node) begin(ctx context.Context, p *peer) (*fetch, error) {
	f := &fetch{
		world: n.shared.lib, comm: n.comm, from: p.rank, stop: n.ctx.Done(), gone: p.gone, late: n.opt.Timeout,
		broken: n.shared.broken,
		signal: make(chan struct{}, 1),
	}
	select {
	case f.id = <-n.slots:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-n.ctx.Done():
		return nil, transport.ErrClosed
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closing {
		n.slots <- f.id
		return nil, transport.ErrClosed
	}
	n.serving.Add(1)
	n.fetches[f.id] = f
	select {
	case <-p.gone: // leave did not see this fetch
		f.end(errGone)
	default:
	}
	return f, nil
}

// end gives the tag of a fetch back, when no more bytes can arrive with it.
func (n *node) end(f *fetch) {
	n.mu.Lock()
	delete(n.fetches, f.id)
	n.mu.Unlock()
	n.slots <- f.id
	n.serving.Done()
}

// drain receives the rest of a fetch, and ends it.
func (n *node) drain(f *fetch) {
	if f.over && f.body == 0 {
		n.end(f)
		return
	}
	go func() {
		defer n.end(f)
		rest := &reader{fetch: f, ctx: context.Background(), drains: true}
		_, _ = io.Copy(io.Discard, rest)
	}()
}

// leave notes that a node has left: in order, or because of why.
func (n *node) leave(p *peer, why error) {
	known := p.leaves()
	n.mu.Lock()
	var of []*fetch
	for _, f := range n.fetches {
		if f.from == p.rank {
			of = append(of, f)
		}
	}
	n.mu.Unlock()
	for _, f := range of {
		f.end(errors.Join(errGone, why))
	}
	if known && !p.self {
		n.events.Add(transport.Event{Node: p.name, Err: why})
	}
}

// lose notes that a node is lost for good.
func (n *node) lose(p *peer, why error) {
	n.shared.maimed.Store(true)
	p.mute()
	n.leave(p, why)
}

// look receives the frames that have arrived, and reports whether there were any. Only the progress
// goroutine calls it.
func (n *node) look(now time.Time) (some bool, err error) {
	var found libmpi.Found
	for range 64 { // then poll the other nodes
		ok, err := n.comm.Probe(frameTag, &found)
		if err != nil || !ok {
			return some, err
		}
		some = true
		p, size := n.peers[found.From], found.Size
		a := &arrival{b: make([]byte, size)}
		p.arriving = append(p.arriving, a)
		found.Receive(a.b, func(o *libmpi.Op) {
			a.done, a.err = true, o.Err
			n.arrived(p, now)
		})
	}
	return some, nil
}

// arrived handles the complete frames of a node, in their order.
func (n *node) arrived(p *peer, now time.Time) {
	for len(p.arriving) > 0 && p.arriving[0].done {
		a := p.arriving[0]
		p.arriving = p.arriving[1:]
		f, err := frame{}, a.err
		if err == nil {
			f, err = parse(a.b)
		}
		if err == nil {
			p.hears(&f, now)
			err = n.take(p, &f)
		}
		if err != nil {
			n.lose(p, err)
		}
	}
}

// take handles a frame. The error says that the node cannot be trusted any more.
func (n *node) take(p *peer, f *frame) error {
	switch f.kind {
	case kindHello:
		if p.joins() {
			n.events.Add(transport.Event{Node: p.name, Joined: true})
		}
	case kindBeat:
	case kindMessage:
		return n.message(p, f.payload)
	case kindWant:
		n.want(p, f)
	case kindPart, kindAbsent, kindFailed:
		n.mu.Lock()
		x := n.fetches[f.id]
		n.mu.Unlock()
		switch {
		case x != nil && x.from == p.rank:
			x.put(*f)
		case p.isThere():
			return fmt.Errorf("a value that nobody has asked for")
		}
	case kindBye:
		n.leave(p, nil)
		p.put(&frame{kind: kindGone})
	case kindGone:
		select {
		case <-p.parted:
		default:
			close(p.parted)
		}
	}
	return nil
}

// message queues a message for the handler.
func (n *node) message(p *peer, b []byte) error {
	n.mu.Lock()
	closing := n.closing
	if !closing && p.inbox == nil {
		p.inbox = make(chan []byte, window)
		n.running.Add(1)
		go n.deliver(p)
	}
	n.mu.Unlock()
	if closing {
		return nil
	}
	select {
	case p.inbox <- b:
		return nil
	default:
		return fmt.Errorf("more messages than it may send")
	}
}

// deliver handles the messages of a node until Close.
func (n *node) deliver(p *peer) {
	defer n.running.Done()
	for {
		select {
		case <-n.ctx.Done():
			return
		case b := <-p.inbox:
			if n.ctx.Err() != nil {
				return
			}
			n.handle(p.name, b)
			p.handled(len(b))
		}
	}
}

// want answers the request for a value.
func (n *node) want(p *peer, f *frame) {
	n.mu.Lock()
	closing := n.closing
	if !closing {
		n.serving.Add(1)
	}
	n.mu.Unlock()
	if closing {
		p.put(&frame{kind: kindAbsent, id: f.id})
		return
	}
	r, wait, id := decodeRef(f.payload), time.Duration(f.n), f.id
	go func() {
		defer n.serving.Done()
		v, done := n.values.Read(n.ctx, p.gone, r, min(wait, n.opt.Timeout))
		if v == nil {
			p.put(&frame{kind: kindAbsent, id: id})
			return
		}
		defer done()
		p.serve(id, v)
	}()
}

// tick sends beats to other nodes, and notes which have been silent too long. Only the progress
// goroutine calls it.
func (n *node) tick(now time.Time) {
	every := n.opt.Timeout / 16
	if n.ticked.IsZero() {
		n.ticked = now
	}
	pause := now.Sub(n.ticked)
	if pause < every {
		return
	}
	n.ticked = now
	for _, p := range n.peers {
		if p.self || !p.isThere() {
			continue
		}
		if pause > n.opt.Timeout/4 { // this process stood still: not their fault
			p.forgives(pause)
		}
		heard, said := p.silence(now)
		switch {
		case heard > n.opt.Timeout:
			n.lose(p, fmt.Errorf("nothing was heard of it for %v", n.opt.Timeout))
		case said > n.opt.Timeout/4:
			p.put(&frame{kind: kindBeat})
		}
	}
}

// far reports whether there are nodes that cannot wake this process.
func (n *node) far() bool {
	for _, p := range n.peers {
		if !p.near && p.isThere() {
			return true
		}
	}
	return false
}

// Close implements [transport.Transport]. It tells the others.
func (n *node) Close() error {
	n.once.Do(func() {
		n.mu.Lock()
		started := n.started
		n.closing = true
		n.mu.Unlock()
		n.cancel()
		if !started {
			return
		}
		within(n.opt.Timeout, &n.serving)
		over := time.After(n.opt.Timeout)
		for _, p := range n.peers { // also to nodes that are yet to start
			p.put(&frame{kind: kindBye})
		}
		for _, p := range n.peers {
			if !p.isThere() && !p.self {
				continue
			}
			select {
			case <-p.parted:
			case <-over:
				n.lose(p, errGone)
			}
		}
		n.active.Store(false)
	})
	n.running.Wait()
	return nil
}

// within waits for a group for at most d.
func within(d time.Duration, g *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		g.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(d):
	}
}
