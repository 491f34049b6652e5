package web

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

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
	over          atomic.Bool // nobody is there: no connection is kept
}

// host returns the clients of an address.
func (n *caller) host(address string) *host {
	n.hosts.mu.Lock()
	defer n.hosts.mu.Unlock()
	h := n.hosts.of[address]
	if h == nil {
		h = &host{control: n.client(address, n.opt.Timeout), bulk: n.client(address, 10*n.opt.Timeout)}
		if n.hosts.of == nil {
			n.hosts.of = map[string]*host{}
		}
		n.hosts.of[address] = h
	}
	return h
}

// client returns a client of an address.
func (n *caller) client(address string, timeout time.Duration) *fasthttp.HostClient {
	return &fasthttp.HostClient{
		Addr: address, Name: "tessera", NoDefaultUserAgentHeader: true, MaxIdemponentCallAttempts: 1, MaxConns: 64,
		ReadBufferSize: buffers, WriteBufferSize: buffers, ReadTimeout: timeout, WriteTimeout: timeout,
		MaxIdleConnDuration: time.Minute, DisablePathNormalizing: true,
		Dial: n.dial, StreamResponseBody: true,
	}
}

// part closes the connections with an address that nobody uses. Those in use are not kept.
func (n *caller) part(address string) {
	n.hosts.mu.Lock()
	h := n.hosts.of[address]
	delete(n.hosts.of, address)
	n.hosts.mu.Unlock()
	if h != nil {
		h.over.Store(true)
		h.rest()
	}
}

// partAll is part for all addresses.
func (n *caller) partAll() {
	n.hosts.mu.Lock()
	all := n.hosts.of
	n.hosts.of = nil
	n.hosts.mu.Unlock()
	for _, h := range all {
		h.over.Store(true)
		h.rest()
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
	if h.over.Load() {
		h.rest()
	}
}
