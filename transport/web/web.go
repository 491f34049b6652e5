package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
	"github.com/valyala/fasthttp"
)

const (
	// behind is how many messages of a node may wait for its handler.
	behind = 64
	// buffers is the size of what a connection reads and writes at once.
	buffers = 64 << 10

	headerFrom = "X-Tessera-From" // the sender's name
	headerLife = "X-Tessera-Life" // the number that it has taken at its start
	headerTurn = "X-Tessera-Turn" // the number of a message
	headerWait = "X-Tessera-Wait" // how long the other side may wait for a value to come
	headerSum  = "X-Tessera-Crc"  // the CRC-32C of a value
)

// node implements transport.Transport.
type node struct {
	opt     Options
	life    uint64
	members *members
	ask     chan string // addresses of nodes that have greeted and are not there
	values  transport.Published
	server  *fasthttp.Server
	listen  net.Listener
	to, at  connections      // by address, by name: to others, and while they read a value
	control *fasthttp.Client // for what is short
	bulk    *fasthttp.Client // for values

	handle  transport.Handler
	tell    func(transport.Event)
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	once    sync.Once

	mu       sync.Mutex // a leaf
	refusals refusals
	self     *member // this node, as a sender to itself
	started  bool
}

// New returns a node that listens; it takes part when it is started. The error is an
// *OptionsError, or that of listening.
func New(opt Options) (transport.Transport, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	n := &node{opt: opt, life: rand.Uint64(), members: newMembers(), ask: make(chan string, 64), refusals: refusals{log: opt.Log}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	var err error
	if n.listen, err = net.Listen("tcp", opt.Listen); err != nil {
		return nil, err
	}
	client := func(timeout time.Duration) *fasthttp.Client {
		return &fasthttp.Client{
			Name: "tessera", NoDefaultUserAgentHeader: true, MaxIdemponentCallAttempts: 1, MaxConnsPerHost: 64,
			ReadBufferSize: buffers, WriteBufferSize: buffers, ReadTimeout: timeout, WriteTimeout: timeout,
			MaxIdleConnDuration: time.Minute, DisablePathNormalizing: true,
			Dial: n.dial, StreamResponseBody: true, MaxResponseBodySize: 0,
		}
	}
	n.control, n.bulk = client(opt.Timeout), client(10*opt.Timeout)
	n.server = &fasthttp.Server{
		Name: "tessera", NoDefaultServerHeader: true, Handler: n.serve, ErrorHandler: n.broken, Logger: quiet{},
		ReadBufferSize: buffers, WriteBufferSize: buffers, MaxRequestBodySize: transport.MessageLimit,
		ReadTimeout: 10 * opt.Timeout, WriteTimeout: 10 * opt.Timeout, IdleTimeout: 2 * time.Minute, Concurrency: 4096,
	}
	if opt.TLS != nil {
		server, _ := secure(opt.TLS)
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
		return cmp.Or(n.opt.Address, n.listen.Addr().String())
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

// dial connects with an address, and checks who is there.
func (n *node) dial(address string) (net.Conn, error) {
	d := net.Dialer{Timeout: n.opt.Timeout}
	c, err := d.DialContext(n.ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c = &outgoing{c, n.to.add(address, c)}
	if n.opt.TLS == nil {
		return c, nil
	}
	_, config := secure(n.opt.TLS)
	t := tls.Client(c, config)
	ctx, cancel := context.WithTimeout(n.ctx, n.opt.Timeout)
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		if n.ctx.Err() == nil {
			n.refusals.distrust(address, err, true)
		}
		return nil, err
	}
	name, err := peer(t.ConnectionState())
	if err == nil {
		err = n.members.met(address, name)
	}
	if err != nil {
		t.Close()
		n.refusals.tell("connection refused", "to", address, err)
		return nil, err
	}
	return &trusting{t, &n.refusals, address}, nil
}

// shows returns an error if who is at an address has not shown the certificate of a node.
func (n *node) shows(address, name string) error {
	if who := n.members.who(address); n.opt.TLS != nil && who != name {
		return fmt.Errorf("%s says that it is %.100q", who, name)
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
	n.started, n.handle, n.tell = true, h, e
	n.running.Add(3)
	go func() {
		defer n.running.Done()
		_ = n.server.Serve(n.listen) // which ends with Close
	}()
	go n.report()
	go n.greet()
	return nil
}

// report tells events, until the end.
func (n *node) report() {
	defer n.running.Done()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-n.members.news:
			for _, e := range n.members.take() {
				if n.ctx.Err() == nil {
					n.tell(e)
				}
			}
		}
	}
}

// greeting is the body of a greeting, and of the answer.
type greeting struct {
	Name    string
	Address string
	Life    uint64
	Known   uint64            // the digest of the nodes that are there for the sender
	Others  map[string]string // of an answer: their names and addresses, if Known differs
}

// greeting returns this node's greeting; as an answer it has the others that are there,
// unless the other side knows them.
func (n *node) greeting(known uint64, answer bool) []byte {
	g := greeting{Name: n.opt.Name, Address: Address(n), Life: n.life}
	others := n.members.addresses()
	g.Known = digest(g.Name, g.Address)
	for name, address := range others {
		g.Known ^= digest(name, address)
	}
	if answer && known != g.Known {
		g.Others = others
	}
	b, err := json.Marshal(g)
	if err != nil {
		panic(err) // the type above can be encoded
	}
	return b
}

// digest returns a number that depends on a node's name and address.
func digest(name, address string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name + "\x00" + address))
	return h.Sum64()
}

// greet greets all nodes that are known, again and again, until the end. A node that does
// not answer keeps none of the others waiting.
func (n *node) greet() {
	defer n.running.Done()
	tick, look := time.NewTicker(n.opt.Greet), time.NewTicker(n.opt.Greet/4+1)
	defer tick.Stop()
	defer look.Stop()
	asking := map[string]chan struct{}{} // closed when the greeting has ended
	one := func(address string, b []byte) {
		if asking[address] != nil {
			return
		}
		c := make(chan struct{})
		asking[address] = c
		n.running.Add(1)
		go func() {
			defer n.running.Done()
			defer close(c)
			n.greetOne(address, b)
		}()
	}
	last := time.Now()
	for again := true; ; {
		if again {
			for a, c := range asking {
				select {
				case <-c:
					delete(asking, a)
				default:
				}
			}
			to := map[string]struct{}{}
			for _, a := range n.opt.Peers {
				to[a] = struct{}{}
			}
			n.members.greets(to)
			delete(to, Address(n))
			b := n.greeting(0, false)
			for a := range to {
				one(a, b)
			}
		}
		again = false
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
			again = true
		case a := <-n.ask:
			one(a, n.greeting(0, false))
		case <-look.C:
			now := time.Now()
			if pause := now.Sub(last); pause > n.opt.Timeout/4+n.opt.Greet {
				n.members.forgive(pause) // this process stood still: the others could not be heard
			}
			last = now
			for name, address := range n.members.silent(n.opt.Timeout, fmt.Errorf("it has not answered for %v", n.opt.Timeout), now) {
				n.to.cut(address)
				n.at.cut(name)
			}
		}
	}
}

// greetOne greets a node. That it does not answer is no error: it may not be there yet.
func (n *node) greetOne(address string, b []byte) {
	_, err := n.post(address, "/v1/greet", b, nil, func(b []byte) error {
		var g greeting
		if err := json.Unmarshal(b, &g); err != nil {
			return err
		}
		if err := n.shows(address, g.Name); err != nil {
			n.refusals.tell("answer refused", "from", address, err)
			return err
		}
		if g.Name != n.opt.Name {
			n.members.answered(g.Name, address, g.Life, time.Now())
		}
		delete(g.Others, n.opt.Name)
		n.members.told(g.Others)
		return nil
	})
	if err != nil && n.ctx.Err() == nil && n.members.onlyGreets(address, n.opt.Timeout/2) {
		n.refusals.tell("a node greets this one and cannot be reached", "at", address, err)
	}
}

// request prepares a request of this node.
func (n *node) request(method, address, path string) *fasthttp.Request {
	q := fasthttp.AcquireRequest()
	scheme := "http://" // dial makes the connection, TLS included
	q.SetRequestURI(scheme + address + path)
	q.Header.SetMethod(method)
	q.Header.Set(headerFrom, n.opt.Name)
	q.Header.Set(headerLife, strconv.FormatUint(n.life, 10))
	return q
}

// post posts a body, and gives the answer's to take. Status is that of the answer, 0 if
// there is none.
func (n *node) post(address, path string, b []byte, set func(*fasthttp.Request), take func([]byte) error) (status int, err error) {
	q, a := n.request(fasthttp.MethodPost, address, path), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(q)
	defer fasthttp.ReleaseResponse(a)
	q.SetBodyRaw(b)
	if set != nil {
		set(q)
	}
	if err := n.control.DoTimeout(q, a, n.opt.Timeout); err != nil {
		return 0, err
	}
	if a.StatusCode() != fasthttp.StatusOK {
		return a.StatusCode(), fmt.Errorf("%d %s", a.StatusCode(), a.Body())
	}
	if take != nil {
		err = take(a.Body())
	}
	return a.StatusCode(), err
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
		return n.enqueue(ctx, n.own(), message)
	}
	x, address := n.members.find(to)
	if x == nil {
		return &transport.UnreachableError{Node: to}
	}
	x.turn.Lock()
	defer x.turn.Unlock()
	x.sent++
	turn := strconv.FormatUint(x.sent, 10)
	var refused time.Time // it was so first: the other side does not know this one yet
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		status, err := n.post(address, "/v1/message", message, func(q *fasthttp.Request) { q.Header.Set(headerTurn, turn) }, nil)
		switch {
		case err == nil:
			return nil
		case status == fasthttp.StatusTooManyRequests: // it is behind
		case status == 0 && n.stays(to, x): // a connection was cut; what came twice is dropped
		case status == fasthttp.StatusConflict && n.stays(to, x) && (refused.IsZero() || time.Since(refused) < n.opt.Timeout):
			if refused.IsZero() {
				refused = time.Now()
			}
			n.greetOne(address, n.greeting(0, false)) // it greets back
		default:
			return &transport.UnreachableError{Node: to, Err: err}
		}
		select {
		case <-ctx.Done():
		case <-n.ctx.Done():
			return transport.ErrClosed
		case <-time.After(wait):
		}
	}
}

// stays reports whether a node is still there, in the same life.
func (n *node) stays(name string, x *member) bool {
	y, _ := n.members.find(name)
	return x == y
}

func (n *node) open() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.started && n.ctx.Err() == nil
}

// own returns this node as a sender to itself.
func (n *node) own() *member {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.self == nil {
		n.self = &member{name: n.opt.Name, there: true}
	}
	return n.self
}

// enqueue gives a message of x to the handler.
func (n *node) enqueue(ctx context.Context, x *member, message []byte) error {
	select {
	case n.inbox(x) <- slices.Clone(message):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-n.ctx.Done():
		return transport.ErrClosed
	}
}

// inbox returns where messages of x wait.
func (n *node) inbox(x *member) chan []byte {
	n.members.mu.Lock()
	defer n.members.mu.Unlock()
	if x.inbox == nil {
		x.inbox = make(chan []byte, behind)
		if n.ctx.Err() != nil { // nobody comes to take them
			return x.inbox
		}
		n.running.Add(1)
		go func() {
			defer n.running.Done()
			for {
				select {
				case <-n.ctx.Done():
					return
				case b := <-x.inbox:
					if n.ctx.Err() == nil {
						n.handle(x.name, b)
					}
				}
			}
		}()
	}
	return x.inbox
}

// Publish implements [transport.Transport].
func (n *node) Publish(r transport.Ref, v versions.Value) { n.values.Put(r, v) }

// Drop implements [transport.Transport].
func (n *node) Drop(r transport.Ref) { n.values.Drop(r) }

// Fetch implements [transport.Transport].
func (n *node) Fetch(ctx context.Context, from string, r transport.Ref, wait time.Duration, into versions.Value) error {
	if !n.open() {
		return transport.ErrClosed
	}
	address := Address(n)
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
		return &transport.UnreachableError{Node: from, Err: stream.err}
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
	if err == nil && who != name {
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
	if from != n.opt.Name && !n.members.greeted(g.Name, g.Address, g.Life, time.Now()) {
		select { // it is there when it answers
		case n.ask <- g.Address:
		default: // it is asked all the same, a little later
		}
	}
	c.SetBody(n.greeting(g.Known, true))
}

func (n *node) serveMessage(c *fasthttp.RequestCtx, from string, life uint64) {
	turn, err := strconv.ParseUint(string(c.Request.Header.Peek(headerTurn)), 10, 64)
	x, _ := n.members.find(from)
	if err == nil && n.members.meets(from, life) { // it was faster than its answer to our greeting
		c.Error("not met yet", fasthttp.StatusConflict)
		return
	}
	if err != nil || x == nil || x.life != life {
		n.refuse(c, fasthttp.StatusConflict, fmt.Errorf("a message of %.100q, which is not there", from))
		return
	}
	inbox := n.inbox(x)
	n.members.mu.Lock()
	defer n.members.mu.Unlock()
	if turn <= x.taken { // it came before, and the answer was lost
		return
	}
	select {
	case inbox <- slices.Clone(c.PostBody()):
		x.taken = turn
	default:
		c.Error("behind", fasthttp.StatusTooManyRequests)
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
	c.SetBodyStream(&body{v, sync.OnceFunc(func() { idle(); done() })}, m.n)
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
						_, _ = n.post(address, "/v1/leave", nil, nil, nil)
					}
				}()
			}
			telling.Wait()
		}
		n.members.mu.Lock() // from here on no inbox begins
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
