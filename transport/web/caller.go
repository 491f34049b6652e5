package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
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
	headerSum   = "X-Tessera-Crc"   // the CRC-32C of a value
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

// address returns where others reach the node.
func (n *caller) address() string { return cmp.Or(n.opt.Address, n.listen.Addr().String()) }

// dial connects with an address, and checks who is there.
func (n *caller) dial(address string) (net.Conn, error) {
	d := net.Dialer{Timeout: n.opt.Timeout}
	c, err := d.DialContext(n.ctx, "tcp", address)
	if err != nil {
		if listen.Exhausted(err) {
			n.rest()
			n.refusals.tell("there is no file descriptor left for connections with others", "to", address, err)
		}
		return nil, err
	}
	c = &outgoing{c, n.to.add(address, c)}
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
