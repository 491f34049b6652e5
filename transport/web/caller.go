package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/internal/listen"
	"github.com/valyala/fasthttp"
)

const (
	// buffers is the size of a connection's read and write buffers.
	buffers = 64 << 10

	// greetingMost is the size of the largest greeting, with the addresses of some 5000 nodes or
	// more. Only messages and values may be larger. reasonMost bounds the text of a refusal.
	greetingMost = 1 << 20
	reasonMost   = 500

	headerFrom  = "X-Tessera-From"  // the sender's name
	headerLife  = "X-Tessera-Life"  // the sender's life: a random number chosen at its start
	headerWait  = "X-Tessera-Wait"  // how long the receiver may wait for a value, or the sender for an answer
	headerFirst = "X-Tessera-First" // in a refusal: the address of the node that has a name, and the name
	headerLarge = "X-Tessera-Large" // set by announced: the body is too large
	headerSum   = "X-Tessera-Crc"   // where the CRC-32C of a value is: see sumLast
	headerMove  = "X-Tessera-Move"  // answers to messages report received bytes: see link
)

// caller is the part of a node that sends requests to others.
type caller struct {
	opt      Options
	life     uint64
	began    time.Time // beginning of its life, compared with other nodes of its name; members.mu guards it
	members  *members
	refusals refusals
	listen   *listen.Listener
	to       connections // connections to others, by address
	hosts    hosts
	ctx      context.Context
	cancel   context.CancelFunc
}

// newCaller returns a caller with a listener that accepts no connection yet.
func newCaller(opt Options) (*caller, error) {
	n := &caller{opt: opt, began: time.Now(), life: rand.Uint64(), members: newMembers(),
		refusals: refusals{log: opt.Log}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	l, err := net.Listen("tcp", opt.Listen)
	if err != nil {
		return nil, err
	}
	n.listen = listen.New(l, listen.Options{Patience: opt.Timeout, Spare: n.closeIdle,
		Tell: func(err error, failed int) {
			n.opt.Log.Error("connections cannot be accepted for now", "at", l.Addr().String(), "error", err, "attempts",
				failed)
		}})
	return n, nil
}

// idle is how long no byte of a value may arrive.
func (n *caller) idle() time.Duration { return n.opt.Timeout + min(2*n.opt.Timeout, headWait) }

// address returns where others reach the node.
func (n *caller) address() string { return cmp.Or(n.opt.Address, n.listen.Addr().String()) }

// dial connects to an address, and checks the certificate there.
func (n *caller) dial(address string) (net.Conn, error) {
	return n.dialOver(address, func(c net.Conn) net.Conn { return c })
}

// dialPaced is dial for values: a connection over which no byte arrives for a time is cut.
func (n *caller) dialPaced(address string) (net.Conn, error) {
	return n.dialOver(address, func(c net.Conn) net.Conn { return &steadyConn{Conn: c, idle: n.idle()} })
}

// dialOver is dial over a connection that is wrapped first, below TLS.
func (n *caller) dialOver(address string, wrap func(net.Conn) net.Conn) (net.Conn, error) {
	d := net.Dialer{Timeout: n.opt.Timeout}
	c, err := d.DialContext(n.ctx, "tcp", address)
	if err != nil {
		if listen.Exhausted(err) {
			n.closeIdle()
			n.refusals.tell("there is no file descriptor left for connections with others", "to", address, err)
		}
		return nil, err
	}
	c = wrap(&outgoing{c, n.to.add(address, c)})
	if n.opt.TLS == nil {
		return c, nil
	}
	_, config := Secure(n.opt.TLS)
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
		err = n.members.met(address, name, time.Now())
	}
	if err != nil {
		t.Close()
		n.refusals.tell("connection refused", "to", address, err)
		return nil, err
	}
	return &trusting{t, &n.refusals, address}, nil
}

// shows returns an error if the certificate shown at an address is not for a name.
func (n *caller) shows(address, name string) error {
	if who := n.members.shownName(address); n.opt.TLS != nil && !speaks(who, name) {
		return fmt.Errorf("%s says that it is %.100q", who, name)
	}
	return nil
}

// request prepares a request of this node.
func (n *caller) request(method, address, path string) *fasthttp.Request {
	q := fasthttp.AcquireRequest()
	q.SetRequestURI("http://" + address + path) // dial adds TLS itself
	q.Header.SetMethod(method)
	q.Header.Set(headerFrom, n.opt.Name)
	q.Header.Set(headerLife, strconv.FormatUint(n.life, 10))
	return q
}

// post posts a body, and passes the answer's body to take.
func (n *caller) post(address, path string, b []byte, take func([]byte) error) error {
	h := n.host(address)
	q, a := n.request(fasthttp.MethodPost, address, path), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(q)
	defer h.release(a)
	q.SetBodyRaw(b)
	if err := h.control.DoTimeout(q, a, n.opt.Timeout); err != nil {
		return err
	}
	text, err := readSmall(a.BodyStream(), greetingMost)
	if err != nil {
		return err
	}
	if a.StatusCode() != fasthttp.StatusOK {
		r := &refusal{status: a.StatusCode(), why: string(text[:min(len(text), reasonMost)])}
		r.first, r.taken, _ = strings.Cut(string(a.Header.Peek(headerFirst)), " ")
		return r
	}
	if take != nil {
		return take(text)
	}
	return nil
}

// refusal is an answer with an error status.
type refusal struct {
	status int
	why    string
	// Of a refusal because two nodes have one name: the address of the first one, and the name.
	first, taken string
}

func (e *refusal) Error() string { return fmt.Sprintf("%d %s", e.status, e.why) }

// hosts are the HTTP clients by address. A client's idle connections are kept while a node is
// there. When the node has left they are closed: the other side may have closed them, which this
// side would not notice.
type hosts struct {
	mu sync.Mutex // a leaf
	of map[string]*host
}

// host is an address with its clients: for short requests, and for values.
type host struct {
	control, bulk *fasthttp.HostClient
	keeps         atomic.Bool  // a node is there
	used          atomic.Int64 // time of its last use, in seconds
}

// hostFor is how long the client of an address without a node is kept. It has a goroutine that
// lasts nearly as long, so a new one for each greeting would be many.
const hostFor = 2 * time.Minute

// host returns the clients of an address.
func (n *caller) host(address string) *host {
	now := time.Now()
	n.hosts.mu.Lock()
	defer n.hosts.mu.Unlock()
	h := n.hosts.of[address]
	if h == nil {
		h = &host{control: n.client(address, n.opt.Timeout, n.dial),
			bulk: n.client(address, 10*n.opt.Timeout, n.dialPaced)}
		if n.hosts.of == nil {
			n.hosts.of = map[string]*host{}
		}
		n.hosts.of[address] = h
	}
	h.used.Store(now.Unix())
	return h
}

// client returns a client of an address.
func (n *caller) client(address string, timeout time.Duration, dial fasthttp.DialFunc) *fasthttp.HostClient {
	return &fasthttp.HostClient{
		Addr: address, Name: "tessera", NoDefaultUserAgentHeader: true, MaxIdemponentCallAttempts: 1, MaxConns: 64,
		ReadBufferSize: buffers, WriteBufferSize: buffers, ReadTimeout: timeout, WriteTimeout: timeout,
		MaxIdleConnDuration: time.Minute, DisablePathNormalizing: true,
		Dial: dial, StreamResponseBody: true,
	}
}

// keep keeps idle connections to an address, because a node is there.
func (n *caller) keep(address string) { n.host(address).keeps.Store(true) }

// part closes idle connections to an address, and does not keep those in use.
func (n *caller) part(address string) {
	n.hosts.mu.Lock()
	h := n.hosts.of[address]
	n.hosts.mu.Unlock()
	if h != nil {
		h.keeps.Store(false)
		h.closeIdle()
	}
}

// tidyHosts drops clients of addresses without a node.
func (n *caller) tidyHosts(now time.Time) {
	n.hosts.mu.Lock()
	defer n.hosts.mu.Unlock()
	maps.DeleteFunc(n.hosts.of, func(_ string, h *host) bool {
		return !h.keeps.Load() && now.Sub(time.Unix(h.used.Load(), 0)) > hostFor
	})
}

// partAll is part for all addresses.
func (n *caller) partAll() {
	n.hosts.mu.Lock()
	all := slices.Collect(maps.Keys(n.hosts.of))
	n.hosts.mu.Unlock()
	for _, address := range all {
		n.part(address)
	}
}

// closeIdle closes idle connections.
func (h *host) closeIdle() {
	h.control.CloseIdleConnections()
	h.bulk.CloseIdleConnections()
}

// closeIdle closes all idle connections: the process has no descriptors left.
func (n *caller) closeIdle() {
	n.hosts.mu.Lock()
	all := slices.Collect(maps.Values(n.hosts.of))
	n.hosts.mu.Unlock()
	for _, h := range all {
		h.closeIdle()
	}
}

// release releases a response and its connection.
func (h *host) release(a *fasthttp.Response) {
	fasthttp.ReleaseResponse(a) // closes the body's stream
	if !h.keeps.Load() {
		h.closeIdle()
	}
}
