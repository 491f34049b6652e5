package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// buffers is the size of what a connection reads and writes at once.
	buffers = 64 << 10

	headerFrom = "X-Tessera-From" // the sender's name
	headerLife = "X-Tessera-Life" // the number that it has taken at its start
	headerWait = "X-Tessera-Wait" // how long the other side may wait for a value, or this one for an answer
	headerSum  = "X-Tessera-Crc"  // the CRC-32C of a value
	headerMove = "X-Tessera-Move" // answers to messages say what has come: see link
)

// caller is a node as one that asks others.
type caller struct {
	opt      Options
	life     uint64
	members  *members
	refusals refusals
	listen   net.Listener
	to       connections      // with others, by address
	control  *fasthttp.Client // for what is short
	bulk     *fasthttp.Client // for values
	ctx      context.Context
	cancel   context.CancelFunc
}

// newCaller returns a node that listens, and answers nobody yet.
func newCaller(opt Options) (*caller, error) {
	n := &caller{opt: opt, life: rand.Uint64(), members: newMembers(), refusals: refusals{log: opt.Log}}
	var err error
	if n.listen, err = net.Listen("tcp", opt.Listen); err != nil {
		return nil, err
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	client := func(timeout time.Duration, dial fasthttp.DialFunc) *fasthttp.Client {
		return &fasthttp.Client{
			Name: "tessera", NoDefaultUserAgentHeader: true, MaxIdemponentCallAttempts: 1, MaxConnsPerHost: 64,
			ReadBufferSize: buffers, WriteBufferSize: buffers, ReadTimeout: timeout, WriteTimeout: timeout,
			MaxIdleConnDuration: time.Minute, DisablePathNormalizing: true,
			Dial: dial, StreamResponseBody: true, MaxResponseBodySize: 0,
		}
	}
	n.control = client(opt.Timeout, n.dial)
	n.bulk = client(10*opt.Timeout, func(address string) (net.Conn, error) {
		return n.dialOver(address, func(c net.Conn) net.Conn { return &paced{Conn: c, idle: n.idle()} })
	})
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

// dialOver is dial over a connection that is wrapped first, below TLS.
func (n *caller) dialOver(address string, wrap func(net.Conn) net.Conn) (net.Conn, error) {
	d := net.Dialer{Timeout: n.opt.Timeout}
	c, err := d.DialContext(n.ctx, "tcp", address)
	if err != nil {
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
	q, a := n.request(fasthttp.MethodPost, address, path), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(q)
	defer fasthttp.ReleaseResponse(a)
	q.SetBodyRaw(b)
	if err := n.control.DoTimeout(q, a, n.opt.Timeout); err != nil {
		return err
	}
	if a.StatusCode() != fasthttp.StatusOK {
		return fmt.Errorf("%d %s", a.StatusCode(), a.Body())
	}
	if take != nil {
		return take(a.Body())
	}
	return nil
}
