package web

import (
	"net"
	"sync"
)

// connections are those with other nodes that are in use: to an address, or with a node
// that is sent a value. When a node has left they are cut, or else who waits for a stopped
// process does so until his own, much longer time-out.
type connections struct {
	mu sync.Mutex // a leaf
	of map[string]map[net.Conn]struct{}
}

// add has a connection cut with those of a key, until done is called.
func (c *connections) add(key string, conn net.Conn) (done func()) {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = t.NetConn() // the end of TLS would be told first, which nobody hears
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]map[net.Conn]struct{}{}
	}
	if c.of[key] == nil {
		c.of[key] = map[net.Conn]struct{}{}
	}
	c.of[key][conn] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.of[key], conn)
		if len(c.of[key]) == 0 {
			delete(c.of, key)
		}
	}
}

// keys returns those of connections that there are.
func (c *connections) keys() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]bool, len(c.of))
	for key := range c.of {
		all[key] = true
	}
	return all
}

// cut ends the connections of a key.
func (c *connections) cut(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.of[key] {
		_ = conn.Close()
	}
}

// outgoing is a connection that this node has begun.
type outgoing struct {
	net.Conn
	done func()
}

// Close implements [net.Conn].
func (c *outgoing) Close() error {
	c.done()
	return c.Conn.Close()
}
