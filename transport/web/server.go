package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/internal/listen"
	"github.com/tessera-la/tessera/transport"
	"github.com/valyala/fasthttp"
)

// node implements transport.Transport.
type node struct {
	greeter
	values  transport.Published
	server  *fasthttp.Server
	serving net.Listener // the server's
	budget  budget

	handle transport.Handler
	own    chan []byte // messages of this node
	once   sync.Once
	sent   atomic.Uint64 // number of the last message: never reset, as receivers compare it

	mu      sync.Mutex // a leaf
	started bool
}

// announced marks a request whose body is too large. The body is not read then: the server would
// wait for its beginning, which the sender may never send.
func announced(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
	if h.ContentLength() > greetingMost {
		h.Set(headerLarge, "1")
		h.SetContentLength(0)
	}
	return c
}

// serve answers a request. It checks the sender before it reads the body.
func (n *node) serve(c *fasthttp.RequestCtx) {
	if len(c.Request.Header.Peek(headerLarge)) > 0 {
		n.refuse(c, fasthttp.StatusRequestEntityTooLarge, &sizeError{greetingMost})
		return
	}
	from, life, err := n.sender(c)
	if err != nil {
		n.refuse(c, fasthttp.StatusForbidden, err)
		return
	}
	if conn := listen.Of(c.Conn()); conn != nil && conn.Strange() {
		if done := n.at.add(lifeOf(from, life), conn); !conn.Known(done) {
			done()
			c.SetConnectionClose() // its other side was late
			return
		}
	}
	path, most := string(c.Path()), reasonMost
	if path == "/v1/greet" {
		most = greetingMost
	}
	body := c.Request.Body()
	if s := c.RequestBodyStream(); s != nil {
		if body, err = readSmall(s, most); err != nil {
			n.broken(c, err)
			return
		}
	}
	switch {
	case path == "/v1/value" && c.IsGet():
		n.serveValue(c, from)
	case path == "/v1/message" && c.IsPost():
		n.serveMessage(c, from, life)
	case path == "/v1/greet" && c.IsPost():
		n.serveGreeting(c, from, life, body)
	case path == "/v1/leave" && c.IsPost():
		n.members.gone(from, life, time.Now())
		n.clear()
	default:
		n.refuse(c, fasthttp.StatusNotFound, fmt.Errorf("%s %.100q is not served", c.Method(), path))
	}
}

// refuse answers an invalid request, and logs it. It closes the connection, which unread bytes of a
// body would spoil.
func (n *node) refuse(c *fasthttp.RequestCtx, status int, err error) {
	n.refusals.tell("request refused", "from", c.RemoteAddr().String(), err)
	c.Error(err.Error(), status)
	c.SetConnectionClose()
}

// broken answers a request that cannot be read: it is too large, or no request.
func (n *node) broken(c *fasthttp.RequestCtx, err error) {
	var cut net.Error
	var header *fasthttp.ErrSmallBuffer
	var size *sizeError
	switch conn := listen.Of(c.Conn()); {
	case conn != nil && conn.Why() != nil:
		n.refusals.tell("connection refused", "from", c.RemoteAddr().String(), conn.Why())
	case errors.As(err, &size):
		n.refuse(c, fasthttp.StatusRequestEntityTooLarge, err)
	case errors.As(err, &header):
		n.refuse(c, fasthttp.StatusRequestHeaderFieldsTooLarge, fmt.Errorf("a header of more than %d bytes", buffers))
	case errors.As(err, &cut) || errors.Is(err, io.ErrUnexpectedEOF):
		c.Error("no request", fasthttp.StatusRequestTimeout) // its sender has left
	case n.opt.TLS != nil && (c.TLSConnectionState() == nil || !c.TLSConnectionState().HandshakeComplete):
		c.Error("no request", fasthttp.StatusBadRequest) // incoming has logged it
	default:
		n.refuse(c, fasthttp.StatusBadRequest, fmt.Errorf("no request: %.200s", err))
	}
}

// sender returns the sender of a request, which with TLS its certificate must confirm.
func (n *node) sender(c *fasthttp.RequestCtx) (name string, life uint64, err error) {
	name = string(c.Request.Header.Peek(headerFrom))
	if life, err = strconv.ParseUint(string(c.Request.Header.Peek(headerLife)), 10, 64); err != nil || name == "" ||
		len(name) > 200 {
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

func (n *node) serveGreeting(c *fasthttp.RequestCtx, from string, life uint64, body []byte) {
	var g greeting
	if err := json.Unmarshal(body, &g); err != nil || g.Name != from || g.Life != life {
		n.refuse(c, fasthttp.StatusBadRequest, errors.New("no greeting"))
		return
	}
	now := time.Now()
	err := n.rival(&g, now)
	if err == nil && from != n.opt.Name {
		var stranger bool
		stranger, err = n.members.greeted(&g, now)
		if stranger { // it is there once it answers
			n.hear()
		}
	}
	var taken *takenError
	switch {
	case errors.As(err, &taken):
		n.refuse(c, fasthttp.StatusConflict, err)
		c.Response.Header.Set(headerFirst, taken.first+" "+taken.name)
		return
	case errors.Is(err, errUndecided):
		c.Error(err.Error(), fasthttp.StatusConflict)
		return
	case err != nil:
		n.refuse(c, fasthttp.StatusTooManyRequests, err)
		return
	}
	n.told(g.Others)
	c.SetBody(n.greeting(g.Known, true))
}

// serveMessage turns a connection into one for messages.
func (n *node) serveMessage(c *fasthttp.RequestCtx, from string, life uint64) {
	x, _ := n.members.find(from)
	if n.members.meets(from, life) { // its request has overtaken its answer to our greeting
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
		n.members.mu.Lock() // nothing begins after Close
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
		defer context.AfterFunc(n.ctx, func() { _ = in.Close() })()
		due := make(chan struct{}, 1)
		answering := n.answer(x, in, make([]byte, length), max(wait/4, answersLeast), due)
		defer func() { _ = in.Close(); close(due); <-answering }()
		if old != nil { // one connection at a time: messages that have arrived over the old one come first
			_ = old.Close()
			<-old.over
		}
		if err := n.takeAll(x, in, &counted{r, in}, due); err != nil {
			n.refusals.tell("message refused", "from", in.RemoteAddr().String(), err)
		}
	})
}

// answersLeast is the least time between two answers without news.
const answersLeast = 10 * time.Millisecond

// answer tells a node which of its messages were taken: at once, when an answer is due, and every
// so often. It ends when due or the connection is closed, and closes the returned channel then.
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

// takeAll hands the messages of a node to the handler as they arrive, until the connection is cut
// or the node has left, and says when answers are due. The error reports invalid data.
func (n *node) takeAll(x *member, in *inbound, r io.Reader, due chan<- struct{}) error {
	for head, count, size := make([]byte, frameHead), 0, 0; ; {
		turn, length, err := readHead(r, head)
		var message []byte
		if err == nil {
			message, err = n.readMessage(in, r, head, length)
		}
		if err != nil {
			var wrong *frameError
			if errors.As(err, &wrong) {
				return err
			}
			return nil
		}
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

// readMessage reads the message behind a head, a large one when the budget has room for all of it.
// Bytes must arrive in each Timeout, or the message would keep the room from others.
func (n *node) readMessage(in *inbound, r io.Reader, head []byte, length int) ([]byte, error) {
	if length <= buffers {
		return readMessage(r, head, length, func() error { return nil })
	}
	if err := n.budget.take(n.ctx, int64(length)); err != nil {
		return nil, err
	}
	defer n.budget.give(int64(length))
	defer in.SetReadDeadline(time.Time{})
	return readMessage(r, head, length, func() error { return in.SetReadDeadline(time.Now().Add(n.opt.Timeout)) })
}

// takenFor is for how many Timeouts the receiver of a value may take no byte. It may wait nearly as
// long for its budget ([node.admit]), and itself notices sooner that no byte arrives.
const takenFor = 6

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
	size := counter{w: io.Discard} // counting does not touch a tile's elements
	if err := v.Encode(&size); err != nil {
		done()
		n.refuse(c, fasthttp.StatusInternalServerError, err)
		return
	}
	c.Response.Header.Set(headerSum, sumLast)
	idle := takenFor * n.opt.Timeout
	late := func(error) {
		n.refusals.tell("a value was not taken", "to", from, &transport.StalledError{Node: from, For: idle})
	}
	c.SetBodyStream(&body{v, c.Conn(), idle, late, sync.OnceFunc(done)}, int(size.n)+sumBytes)
}
