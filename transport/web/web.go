package web

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
	"github.com/valyala/fasthttp"
)

// behind is how many messages of a node to itself may wait for the handler.
const behind = 64

// New returns a node that listens; it takes part when it is started. The error is an
// *OptionsError, or that of listening.
func New(opt Options) (transport.Transport, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	c, err := newCaller(opt)
	if err != nil {
		return nil, err
	}
	n := &node{greeter: greeter{caller: c, heard: make(chan struct{}, 1)}, own: make(chan []byte, behind),
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

// Fetch implements [transport.Transport]. If no byte moves for a time it tries another connection,
// once.
func (n *node) Fetch(ctx context.Context, from string, r transport.Ref, wait time.Duration, into versions.Value) error {
	var stalled *transport.StalledError
	err := n.fetch(ctx, from, r, wait, into)
	if !errors.As(err, &stalled) || ctx.Err() != nil {
		return err
	}
	n.opt.Log.Warn("no byte of a value comes: another connection is tried", "node", n.opt.Name, "from", from, "value",
		fmt.Sprint(r), "for", stalled.For)
	if x, address := n.members.find(from); x != nil {
		n.host(address).bulk.CloseIdleConnections()
	}
	before := stalled.For
	if err = n.fetch(ctx, from, r, 0, into); errors.As(err, &stalled) {
		stalled.For += before
	} else if cut := (*transport.UnreachableError)(nil); errors.As(err, &cut) && ctx.Err() == nil {
		err = &transport.UnreachableError{Node: from,
			Err: errors.Join(&transport.StalledError{Node: from, For: before}, cut.Err)}
	}
	return err
}

// fetch is Fetch over one connection.
func (n *node) fetch(ctx context.Context, from string, r transport.Ref, wait time.Duration, into versions.Value) error {
	if !n.open() {
		return transport.ErrClosed
	}
	address := n.address()
	if from != n.opt.Name {
		x, a := n.members.find(from)
		if x == nil {
			return &transport.UnreachableError{Node: from}
		}
		address = a
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	h := n.host(address)
	q, a := n.request(fasthttp.MethodGet, address, "/v1/value?"+query(r)), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(q)
	defer h.release(a)
	if wait > 0 {
		q.Header.Set(headerWait, wait.String())
	}
	if err := h.bulk.Do(q, a); err != nil {
		if errors.Is(err, fasthttp.ErrTimeout) { // fasthttp reports a stall as a time-out
			err = &transport.StalledError{Node: from, For: n.idle()}
		}
		return &transport.UnreachableError{Node: from, Err: err}
	}
	switch a.StatusCode() {
	case fasthttp.StatusOK:
	case fasthttp.StatusNotFound:
		return &transport.NotHereError{Node: from, Ref: r}
	default:
		why, _ := readSmall(a.BodyStream(), reasonMost)
		return &transport.UnreachableError{Node: from, Err: &refusal{status: a.StatusCode(), why: string(why)}}
	}
	return n.receive(ctx, from, r, a, into)
}

// receive decodes the value in an answer, and checks its checksum.
func (n *node) receive(ctx context.Context, from string, r transport.Ref, a *fasthttp.Response,
	into versions.Value) error {
	size := int64(a.Header.ContentLength()) - sumBytes
	if string(a.Header.Peek(headerSum)) != sumLast || size < 0 {
		return &transport.ChecksumError{Node: from, Ref: r}
	}
	if err := n.admit(ctx, from, r, size); err != nil {
		return err
	}
	defer n.budget.give(size)
	stream := &sumReader{r: a.BodyStream(), ctx: ctx}
	value := io.LimitReader(stream, size)
	err := into.Decode(value)
	if err == nil {
		_, err = io.Copy(io.Discard, value) // bytes that Decode leaves are wrong, and count for the checksum
	}
	sum, want := stream.sum, [sumBytes]byte{}
	if err == nil {
		_, err = io.ReadFull(stream, want[:])
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case stream.err != nil:
		return &transport.UnreachableError{Node: from, Err: cmp.Or(stalledBy(from, stream.err), stream.err)}
	case err == nil && sum != binary.LittleEndian.Uint32(want[:]):
		return &transport.ChecksumError{Node: from, Ref: r}
	}
	return err
}

// admit waits until the budget has room for a value. The error is a *transport.TooLargeError if it
// never has, an *transport.UnreachableError if it has none for as long as the sender would wait, or
// the end of ctx.
func (n *node) admit(ctx context.Context, from string, r transport.Ref, size int64) error {
	if n.opt.Memory > 0 && size > n.opt.Memory {
		return fmt.Errorf("transport: node %s sends %v: %w", from, r,
			&transport.TooLargeError{Size: int(min(size, math.MaxInt)), Limit: int(min(n.opt.Memory, math.MaxInt))})
	}
	within, cancel := context.WithTimeoutCause(ctx, 5*n.opt.Timeout, errNoRoom)
	defer cancel()
	err := n.budget.take(within, size)
	if errors.Is(err, errNoRoom) {
		err = &transport.UnreachableError{Node: from, Err: fmt.Errorf("%w of %d bytes of %v", err, size, r)}
	}
	return err
}

// errNoRoom says that the budget has no room for a value.
var errNoRoom = errors.New("others on their way leave no room for a value")

// sumReader computes the checksum of the bytes that it reads, until ctx ends.
type sumReader struct {
	r   io.Reader
	ctx context.Context
	sum uint32
	err error // of r, except io.EOF
}

// Read implements [io.Reader].
func (s *sumReader) Read(b []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	n, err := s.r.Read(b)
	s.sum = crc32.Update(s.sum, castagnoli, b[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Close implements [transport.Transport]. It tells the others.
func (n *node) Close() error {
	n.once.Do(func() {
		n.mu.Lock()
		started := n.started
		n.mu.Unlock()
		var telling sync.WaitGroup
		if started {
			for _, name := range n.Nodes() {
				telling.Add(1)
				go func() {
					defer telling.Done()
					if x, address := n.members.find(name); x != nil {
						_ = n.post(address, "/v1/leave", nil, nil)
					}
				}()
			}
			telling.Wait()
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
