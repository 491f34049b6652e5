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
		h = &host{control: n.client(address, n.opt.Timeout), bulk: n.client(address, 10*n.opt.Timeout)}
		if n.hosts.of == nil {
			n.hosts.of = map[string]*host{}
		}
		n.hosts.of[address] = h
	}
	h.used.Store(now.Unix())
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
