package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
	"github.com/valyala/fasthttp"
)

// behind is how many messages of a node to itself may wait for the handler.
const behind = 64

// node implements transport.Transport.
type node struct {
	greeter
	values transport.Published
	server *fasthttp.Server

	handle transport.Handler
	own    chan []byte // messages of this node
	once   sync.Once
	sent   atomic.Uint64 // messages: a node that forgets another one may not count anew

	mu      sync.Mutex // a leaf
	started bool
}

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
	n := &node{greeter: greeter{caller: c, heard: make(chan struct{}, 1)}, own: make(chan []byte, behind)}
	n.server = &fasthttp.Server{
		Name: "tessera", NoDefaultServerHeader: true, Handler: n.serve, ErrorHandler: n.broken, Logger: quiet{},
		ReadBufferSize: buffers, WriteBufferSize: buffers, MaxRequestBodySize: transport.MessageLimit,
		ReadTimeout: 10 * opt.Timeout, WriteTimeout: 10 * opt.Timeout, IdleTimeout: 2 * time.Minute, Concurrency: 4096,
	}
	if opt.TLS != nil {
		server, _ := Secure(opt.TLS)
		n.listen = &listener{tls.NewListener(n.listen, server), &n.refusals}
	}
	return n, nil
}

// quiet is a fasthttp.Logger that says nothing: what is refused is told by serve.
type quiet struct{}

// Printf implements [fasthttp.Logger].
func (quiet) Printf(string, ...any) {}

// Address returns where others reach a node of this package; empty for others.
func Address(t transport.Transport) string {
	if n, ok := t.(*node); ok {
		return n.address()
	}
	return ""
}

// Addresses returns where a node of this package reaches each of the others that are there.
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
	n.running.Go(func() { _ = n.server.Serve(n.listen) }) // which ends with Close
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

func (n *node) open() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.started && n.ctx.Err() == nil
}

// enqueue has the handler take a message of this node.
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

// Fetch implements [transport.Transport]. If no byte comes for a time another connection is tried,
// once.
func (n *node) Fetch(ctx context.Context, from string, r transport.Ref, wait time.Duration, into versions.Value) error {
	var stalled *transport.StalledError
	err := n.fetch(ctx, from, r, wait, into)
	if !errors.As(err, &stalled) || ctx.Err() != nil {
		return err
	}
	n.opt.Log.Warn("no byte of a value comes: another connection is tried", "node", n.opt.Name, "from", from, "value", fmt.Sprint(r), "for", stalled.For)
	n.bulk.CloseIdleConnections()
	before := stalled.For
	if err = n.fetch(ctx, from, r, 0, into); errors.As(err, &stalled) {
		stalled.For += before
	} else if cut := (*transport.UnreachableError)(nil); errors.As(err, &cut) && ctx.Err() == nil { // nor does a connection
		err = &transport.UnreachableError{Node: from, Err: errors.Join(&transport.StalledError{Node: from, For: before}, cut.Err)}
	}
	return err
}

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
	q, a := n.request(fasthttp.MethodGet, address, "/v1/value?"+query(r)), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(q)
	defer fasthttp.ReleaseResponse(a) // which closes the body's stream
	if wait > 0 {
		q.Header.Set(headerWait, wait.String())
	}
	if err := n.bulk.Do(q, a); err != nil {
		if errors.Is(err, fasthttp.ErrTimeout) { // which is all that is left of a stall
			err = &transport.StalledError{Node: from, For: n.idle()}
		}
		return &transport.UnreachableError{Node: from, Err: err}
	}
	switch a.StatusCode() {
	case fasthttp.StatusOK:
	case fasthttp.StatusNotFound:
		return &transport.NotHereError{Node: from, Ref: r}
	default:
		return &transport.UnreachableError{Node: from, Err: fmt.Errorf("%d %s", a.StatusCode(), a.Body())}
	}
	want, err := strconv.ParseUint(string(a.Header.Peek(headerSum)), 10, 32)
	if err != nil {
		return &transport.ChecksumError{Node: from, Ref: r}
	}
	stream := &sumReader{r: a.BodyStream(), ctx: ctx}
	err = into.Decode(stream)
	if err == nil {
		_, err = io.Copy(io.Discard, stream) // what Decode leaves is wrong, and in the sum
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case stream.err != nil:
		return &transport.UnreachableError{Node: from, Err: cmp.Or(stalledBy(from, stream.err), stream.err)}
	case err == nil && uint64(stream.m.sum) != want:
		return &transport.ChecksumError{Node: from, Ref: r}
	}
	return err
}

// sumReader takes the checksum of what passes through it, as long as ctx lasts.
type sumReader struct {
	r   io.Reader
	ctx context.Context
	m   measure
	err error // of r, but for its end
}

// Read implements [io.Reader].
func (s *sumReader) Read(b []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	n, err := s.r.Read(b)
	s.m.Write(b[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// serve answers a request.
func (n *node) serve(c *fasthttp.RequestCtx) {
	from, life, err := n.sender(c)
	if err != nil {
		n.refuse(c, fasthttp.StatusForbidden, err)
		return
	}
	switch path := string(c.Path()); {
	case path == "/v1/value" && c.IsGet():
		n.serveValue(c, from)
	case path == "/v1/message" && c.IsPost():
		n.serveMessage(c, from, life)
	case path == "/v1/greet" && c.IsPost():
		n.serveGreeting(c, from, life)
	case path == "/v1/leave" && c.IsPost():
		n.members.gone(from, life, time.Now())
	default:
		n.refuse(c, fasthttp.StatusNotFound, fmt.Errorf("%s %.100q is not served", c.Method(), path))
	}
}

// refuse answers what makes no sense, and tells the operator.
func (n *node) refuse(c *fasthttp.RequestCtx, status int, err error) {
	n.refusals.tell("request refused", "from", c.RemoteAddr().String(), err)
	c.Error(err.Error(), status)
}

// broken answers a request that cannot be read: it is too large, or no request.
func (n *node) broken(c *fasthttp.RequestCtx, err error) {
	var cut net.Error
	var header *fasthttp.ErrSmallBuffer
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		n.refuse(c, fasthttp.StatusRequestEntityTooLarge, fmt.Errorf("a message of more than %d bytes", transport.MessageLimit))
	case errors.As(err, &header):
		n.refuse(c, fasthttp.StatusRequestHeaderFieldsTooLarge, fmt.Errorf("a header of more than %d bytes", buffers))
	case errors.As(err, &cut) || errors.Is(err, io.ErrUnexpectedEOF):
		c.Error("no request", fasthttp.StatusRequestTimeout) // its sender has gone
	case n.opt.TLS != nil && (c.TLSConnectionState() == nil || !c.TLSConnectionState().HandshakeComplete):
		c.Error("no request", fasthttp.StatusBadRequest) // which was told by incoming
	default:
		n.refuse(c, fasthttp.StatusBadRequest, fmt.Errorf("no request: %.200s", err))
	}
}

// sender returns who sends a request. With TLS the certificate says so.
func (n *node) sender(c *fasthttp.RequestCtx) (name string, life uint64, err error) {
	name = string(c.Request.Header.Peek(headerFrom))
	if life, err = strconv.ParseUint(string(c.Request.Header.Peek(headerLife)), 10, 64); err != nil || name == "" || len(name) > 200 {
		return "", 0, errors.New("the sender does not say who it is")
	}
	if n.opt.TLS == nil {
		return name, life, nil
	}
	s := c.TLSConnectionState()
	if s == nil {
		return "", 0, errors.New("no TLS")
	}
	who, err := peer(*s)
	if err == nil && !speaks(who, name) {
		err = fmt.Errorf("%s says that it is %.100q", who, name)
	}
	return name, life, err
}

func (n *node) serveGreeting(c *fasthttp.RequestCtx, from string, life uint64) {
	var g greeting
	if err := json.Unmarshal(c.PostBody(), &g); err != nil || g.Name != from || g.Life != life {
		n.refuse(c, fasthttp.StatusBadRequest, errors.New("no greeting"))
		return
	}
	if from != n.opt.Name {
		stranger, err := n.members.greeted(g.Name, g.Address, g.Life, time.Now())
		if err != nil {
			n.refuse(c, fasthttp.StatusTooManyRequests, err)
			return
		}
		if stranger { // it is there when it answers
			n.hear()
		}
	}
	n.told(g.Others)
	c.SetBody(n.greeting(g.Known, true))
}

// serveMessage makes a connection one for messages.
func (n *node) serveMessage(c *fasthttp.RequestCtx, from string, life uint64) {
	x, _ := n.members.find(from)
	if n.members.meets(from, life) { // it was faster than its answer to our greeting
		c.Error("not met yet", fasthttp.StatusConflict)
		return
	}
	if x == nil || x.life != life {
		n.refuse(c, fasthttp.StatusConflict, fmt.Errorf("a message of %.100q, which is not there", from))
		return
	}
	wait, err := time.ParseDuration(string(c.Request.Header.Peek(headerWait)))
	if err != nil || wait <= 0 {
		n.refuse(c, fasthttp.StatusBadRequest, errors.New("the sender does not say how long it waits for answers"))
		return
	}
	c.SetStatusCode(fasthttp.StatusSwitchingProtocols)
	c.Response.Header.Set(fasthttp.HeaderConnection, "Upgrade")
	c.Response.Header.Set(fasthttp.HeaderUpgrade, upgraded)
	length := answerBytes
	if len(c.Request.Header.Peek(headerMove)) > 0 {
		length = answerLong
		c.Response.Header.Set(headerMove, "1")
	}
	in := &inbound{Conn: c.Conn(), over: make(chan struct{})}
	c.Hijack(func(r net.Conn) {
		n.members.mu.Lock() // after Close nothing begins
		closed, old := n.ctx.Err() != nil, x.comes
		if !closed {
			n.running.Add(1)
			x.comes = in
		}
		n.members.mu.Unlock()
		if closed {
			return
		}
		defer n.running.Done()
		defer close(in.over)
		defer n.at.add(from, in.Conn)()
		defer context.AfterFunc(n.ctx, func() { _ = in.Close() })()
		due := make(chan struct{}, 1)
		answering := n.answer(x, in, make([]byte, length), max(wait/4, answersLeast), due)
		defer func() { _ = in.Close(); close(due); <-answering }()
		if old != nil { // there is one at a time: what this node has of that one comes first
			_ = old.Close()
			<-old.over
		}
		if err := n.takeAll(x, &counted{r, in}, due); err != nil {
			n.refusals.tell("message refused", "from", in.RemoteAddr().String(), err)
		}
	})
}

// answersLeast is between two answers if there is nothing new.
const answersLeast = 10 * time.Millisecond

// answer tells a node which of its messages were taken: at once, when that is due, and every so
// often. It goes on until due is closed, or the connection; the channel is closed then.
func (n *node) answer(x *member, w *inbound, b []byte, every time.Duration, due <-chan struct{}) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for more := true; more; {
			putAnswer(b, n.members.takenOf(x), w.moved.Load())
			if _, err := w.Write(b); err != nil {
				_ = w.Close()
				return
			}
			select {
			case <-tick.C:
			case _, more = <-due:
			}
		}
	}()
	return over
}

// takeAll hands the messages of a node to the handler, as they come, until the connection is cut or
// the node is not there any more. It says when answers are due. The error says what makes no sense.
func (n *node) takeAll(x *member, r io.Reader, due chan<- struct{}) error {
	for head, count, size := make([]byte, frameHead), 0, 0; ; {
		turn, message, err := readFrame(r, head)
		if err != nil {
			var wrong *frameError
			if errors.As(err, &wrong) {
				return err
			}
			return nil
		}
		length := len(message) // which is the handler's then
		this, others := n.members.takes(x, turn)
		if this && n.ctx.Err() == nil {
			n.handle(x.name, message)
		}
		if !others {
			return nil
		}
		if count, size = count+1, size+frameHead+length; count >= answerAfter || size >= answerSize {
			count, size = 0, 0
			select {
			case due <- struct{}{}:
			default:
			}
		}
	}
}

func (n *node) serveValue(c *fasthttp.RequestCtx, from string) {
	r, err := parse(string(c.URI().QueryString()))
	if err != nil {
		n.refuse(c, fasthttp.StatusBadRequest, err)
		return
	}
	var wait time.Duration
	if s := c.Request.Header.Peek(headerWait); len(s) > 0 {
		if wait, err = time.ParseDuration(string(s)); err != nil || wait < 0 {
			n.refuse(c, fasthttp.StatusBadRequest, fmt.Errorf("no time to wait: %.100q", s))
			return
		}
	}
	v, done := n.values.Read(n.ctx, nil, r, min(wait, n.opt.Timeout))
	if v == nil {
		c.Error("not here", fasthttp.StatusNotFound)
		return
	}
	var m measure
	if err := v.Encode(&m); err != nil {
		done()
		n.refuse(c, fasthttp.StatusInternalServerError, err)
		return
	}
	c.Response.Header.Set(headerSum, strconv.FormatUint(uint64(m.sum), 10))
	idle := n.at.add(from, c.Conn())
	late := func(error) {
		n.refusals.tell("a value was not taken", "to", from, &transport.StalledError{Node: from, For: n.opt.Timeout})
	}
	c.SetBodyStream(&body{v, c.Conn(), n.opt.Timeout, late, sync.OnceFunc(func() { idle(); done() })}, m.n)
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
		n.control.CloseIdleConnections()
		n.bulk.CloseIdleConnections()
		if started {
			_ = n.server.Shutdown()
		}
		n.listen.Close() // Shutdown does not close it if Serve has yet to begin
		n.control.CloseIdleConnections()
		n.bulk.CloseIdleConnections()
	})
	n.running.Wait()
	return nil
}
