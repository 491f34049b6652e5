package web

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
	"github.com/valyala/fasthttp"
)

// ownMost is how many messages of a node to itself may wait for the handler.
const ownMost = 64

// New returns a node that listens; it takes part when it is started. The error is an
// *OptionsError, or that of listening.
func New(opt Options) (transport.Transport, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newCaller(opt)
	if err != nil {
		return nil, err
	}
	n := &node{greeter: greeter{caller: c, heard: make(chan struct{}, 1)}, own: make(chan []byte, ownMost),
		budget: budget{most: budgetMost}}
	if opt.Memory > 0 {
		n.budget.most = opt.Memory / 2
	}
	n.server = &fasthttp.Server{
		Name: "tessera", NoDefaultServerHeader: true, Handler: n.serve, ErrorHandler: n.broken, Logger: quiet{},
		ReadBufferSize: buffers, WriteBufferSize: buffers,
		// Bodies are read by serve, which knows how large they may be.
		StreamRequestBody: true, DisablePreParseMultipartForm: true, MaxRequestBodySize: greetingMost,
		HeaderReceived: announced,
		// The listener gives strangers one Timeout.
		ReadTimeout: 2 * opt.Timeout, WriteTimeout: 10 * opt.Timeout, IdleTimeout: 2 * time.Minute,
		Concurrency: connectionsMost,
	}
	n.serving = n.listen
	if opt.TLS != nil {
		server, _ := Secure(opt.TLS)
		n.serving = &secured{n.listen, server, &n.refusals}
	}
	return n, nil
}

// budgetMost bounds the bytes of messages and values on their way to a node whose options do not
// say. connectionsMost bounds the connections that other nodes have begun.
const (
	budgetMost      = 1 << 30
	connectionsMost = 4096
)

// quiet is a fasthttp.Logger that drops its messages: serve logs refusals.
type quiet struct{}

// Printf implements [fasthttp.Logger].
func (quiet) Printf(string, ...any) {}

// Address returns the address of a node of this package; empty for other transports.
func Address(t transport.Transport) string {
	if n, ok := t.(*node); ok {
		return n.address()
	}
	return ""
}

// Addresses returns the addresses at which a node of this package reaches the others that are
// there.
func Addresses(t transport.Transport) map[string]string {
	if n, ok := t.(*node); ok {
		return n.members.addresses()
	}
	return nil
}

// Self implements [transport.Transport].
func (n *node) Self() string { return n.opt.Name }

// Nodes implements [transport.Transport].
func (n *node) Nodes() (names []string) {
	for _, x := range n.members.there() {
		names = append(names, x.name)
	}
	slices.Sort(names)
	return names
}

// Start implements [transport.Transport]. The error is transport.ErrClosed.
func (n *node) Start(h transport.Handler, e func(transport.Event)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.started || n.ctx.Err() != nil {
		return transport.ErrClosed
	}
	n.started, n.handle = true, h
	n.running.Go(n.accept)
	n.running.Go(func() { n.members.events.Tell(n.ctx.Done(), e) })
	n.running.Go(n.greet)
	n.running.Go(n.takeOwn)
	return nil
}

// Send implements [transport.Transport].
func (n *node) Send(ctx context.Context, to string, message []byte) error {
	if len(message) > transport.MessageLimit {
		return &transport.TooLargeError{Size: len(message), Limit: transport.MessageLimit}
	}
	if !n.open() {
		return transport.ErrClosed
	}
	if to == n.opt.Name {
		return n.enqueue(ctx, message)
	}
	x, _ := n.members.find(to)
	if x == nil {
		return &transport.UnreachableError{Node: to}
	}
	x.turn.Lock()
	defer x.turn.Unlock()
	if x.way == nil || x.way.over() {
		l, err := n.newLink(x)
		if err != nil {
			return err
		}
		x.way = l
	}
	return x.way.send(ctx, n.sent.Add(1), message)
}

// Prompt implements [transport.Prompt].
func (n *node) Prompt(to string) bool {
	x, _ := n.members.find(to)
	if x == nil || !n.open() || !x.turn.TryLock() {
		return false
	}
	defer x.turn.Unlock()
	return x.way != nil && x.way.prompt()
}

// accept serves until Close. If it ends earlier, this node cannot be reached any more: an event of
// the node itself says so.
func (n *node) accept() {
	err := n.server.Serve(n.serving)
	if n.ctx.Err() != nil {
		return
	}
	_ = n.listen.Close() // else others would wait for its answers
	if err == nil {
		err = net.ErrClosed
	}
	err = &transport.DeafError{Node: n.opt.Name, Err: err}
	n.opt.Log.Error("this node takes no connections any more", "error", err)
	n.members.events.Add(transport.Event{Node: n.opt.Name, Err: err})
}

func (n *node) open() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.started && n.ctx.Err() == nil
}

// enqueue queues a message of this node to itself.
func (n *node) enqueue(ctx context.Context, message []byte) error {
	select {
	case n.own <- slices.Clone(message):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-n.ctx.Done():
		return transport.ErrClosed
	}
}

// takeOwn hands the messages of this node to the handler.
func (n *node) takeOwn() {
	for {
		select {
		case <-n.ctx.Done():
			return
		case b := <-n.own:
			if n.ctx.Err() == nil {
				n.handle(n.opt.Name, b)
			}
		}
	}
}

// Publish implements [transport.Transport].
func (n *node) Publish(r transport.Ref, v versions.Value) { n.values.Put(r, v) }

// Drop implements [transport.Transport].
func (n *node) Drop(r transport.Ref) { n.values.Drop(r) }

// Close implements [transport.Transport]. It tells the others.
func (n *node) Close() error {
	n.once.Do(func() {
		n.mu.Lock()
		started := n.started
		n.mu.Unlock()
		if started {
			n.tellLeaving()
		}
		n.members.mu.Lock() // from here on no link begins
		n.cancel()
		n.members.mu.Unlock()
		n.partAll()
		if started {
			_ = n.server.Shutdown()
		}
		n.listen.Close() // Shutdown does not close it before Serve begins
	})
	n.running.Wait()
	n.partAll() // connections that greetings under way have kept
	return nil
}

// tellLeaving tells all other nodes that this one leaves, and waits for their answers.
func (n *node) tellLeaving() {
	var telling sync.WaitGroup
	for _, name := range n.Nodes() {
		telling.Go(func() {
			if x, address := n.members.find(name); x != nil {
				_ = n.post(address, "/v1/leave", nil, nil)
			}
		})
	}
	telling.Wait()
}
