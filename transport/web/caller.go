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
	// buffers is the size of what a connection reads and writes at once.
	buffers = 64 << 10

	// greetingMost is the size of the largest greeting: with the addresses of some 5000 nodes, or more.
	// Nothing else but messages and values is as large. Of why something is refused reasonMost is told.
	greetingMost = 1 << 20
	reasonMost   = 500

	headerFrom  = "X-Tessera-From"  // the sender's name
	headerLife  = "X-Tessera-Life"  // the number that it has taken at its start
	headerWait  = "X-Tessera-Wait"  // how long the other side may wait for a value, or this one for an answer
	headerFirst = "X-Tessera-First" // of a refusal: the address of the node that has a name, and the name
	headerLarge = "X-Tessera-Large" // a request has announced too large a body
	headerSum   = "X-Tessera-Crc"   // where the CRC-32C of a value is: see sumLast
	headerMove  = "X-Tessera-Move"  // answers to messages say what has come: see link
)

// caller is a node as one that asks others.
type caller struct {
	opt      Options
	life     uint64
	began    time.Time // as of which it counts as older than others of its name; guarded by members.mu
	members  *members
	refusals refusals
	listen   *listen.Listener
	to       connections // with others, by address
	hosts    hosts
	ctx      context.Context
	cancel   context.CancelFunc
}

// newCaller returns a node that listens, and answers nobody yet.
func newCaller(opt Options) (*caller, error) {
	n := &caller{opt: opt, began: time.Now(), life: rand.Uint64(), members: newMembers(), refusals: refusals{log: opt.Log}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	l, err := net.Listen("tcp", opt.Listen)
	if err != nil {
		return nil, err
	}
	n.listen = listen.New(l, listen.Options{Patience: opt.Timeout, Spare: n.rest, Tell: func(err error, failed int) {
		n.opt.Log.Error("connections cannot be accepted for now", "at", l.Addr().String(), "error", err, "attempts", failed)
	}})
	return n, nil
}

// idle is how long no byte of a value may come.
func (n *caller) idle() time.Duration { return n.opt.Timeout + min(2*n.opt.Timeout, headWait) }

// address returns where others reach the node.
func (n *caller) address() string { return cmp.Or(n.opt.Address, n.listen.Addr().String()) }

// dial connects with an address, and checks who is there.
func (n *caller) dial(address string) (net.Conn, error) {
	return n.dialOver(address, func(c net.Conn) net.Conn { return c })
}

// dialPaced is dial for values: a connection over which no byte comes for a time is cut.
func (n *caller) dialPaced(address string) (net.Conn, error) {
	return n.dialOver(address, func(c net.Conn) net.Conn { return &paced{Conn: c, idle: n.idle()} })
}

// dialOver is dial over a connection that is wrapped first, below TLS.
func (n *caller) dialOver(address string, wrap func(net.Conn) net.Conn) (net.Conn, error) {
	d := net.Dialer{Timeout: n.opt.Timeout}
	c, err := d.DialContext(n.ctx, "tcp", address)
	if err != nil {
		if listen.Exhausted(err) {
			n.rest()
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

// shows returns an error if who is at an address has not shown a certificate for a node.
func (n *caller) shows(address, name string) error {
	if who := n.members.who(address); n.opt.TLS != nil && !speaks(who, name) {
		return fmt.Errorf("%s says that it is %.100q", who, name)
	}
	return nil
}

// request prepares a request of this node.
func (n *caller) request(method, address, path string) *fasthttp.Request {
	q := fasthttp.AcquireRequest()
	scheme := "http://" // dial makes the connection, TLS included
	q.SetRequestURI(scheme + address + path)
	q.Header.SetMethod(method)
	q.Header.Set(headerFrom, n.opt.Name)
	q.Header.Set(headerLife, strconv.FormatUint(n.life, 10))
	return q
}

// post posts a body, and gives the answer's to take.
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

// refusal is an answer other than the one that was asked for.
type refusal struct {
	status int
	why    string
	// Of a refusal because two nodes have one name: the address of the first one, and the name.
	first, taken string
}

func (e *refusal) Error() string { return fmt.Sprintf("%d %s", e.status, e.why) }

// hosts are the clients of addresses. The connections of one are kept while a node is there; when it
// has left those that nobody uses are closed, as the other side may have closed them, which nobody
// here would see.
type hosts struct {
	mu sync.Mutex // a leaf
	of map[string]*host
}

// host is an address with its clients: for what is short, and for values.
type host struct {
	control, bulk *fasthttp.HostClient
	keeps         atomic.Bool  // a node is there
	used          atomic.Int64 // when it was asked last, in seconds
}

// hostFor is for how long an address is known at which no node is. A client has a goroutine that lasts
// nearly as long, so a new one for each greeting would be many.
const hostFor = 2 * time.Minute

// host returns the clients of an address.
func (n *caller) host(address string) *host {
	now := time.Now()
	n.hosts.mu.Lock()
	defer n.hosts.mu.Unlock()
	h := n.hosts.of[address]
	if h == nil {
		h = &host{control: n.client(address, n.opt.Timeout, n.dial), bulk: n.client(address, 10*n.opt.Timeout, n.dialPaced)}
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

// keep has the connections with an address kept, as a node is there.
func (n *caller) keep(address string) { n.host(address).keeps.Store(true) }

// part closes the connections with an address that nobody uses. Those in use are not kept.
func (n *caller) part(address string) {
	n.hosts.mu.Lock()
	h := n.hosts.of[address]
	n.hosts.mu.Unlock()
	if h != nil {
		h.keeps.Store(false)
		h.rest()
	}
}

// tidyHosts forgets addresses at which there is no node.
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

// rest closes connections that nobody uses.
func (h *host) rest() {
	h.control.CloseIdleConnections()
	h.bulk.CloseIdleConnections()
}

// rest closes all connections that nobody uses: the process has no descriptors left.
func (n *caller) rest() {
	n.hosts.mu.Lock()
	all := slices.Collect(maps.Values(n.hosts.of))
	n.hosts.mu.Unlock()
	for _, h := range all {
		h.rest()
	}
}

// release gives a response back, and the connection over which it came.
func (h *host) release(a *fasthttp.Response) {
	fasthttp.ReleaseResponse(a) // which closes the body's stream
	if !h.keeps.Load() {
		h.rest()
	}
}
