package web

import (
	"maps"
	"net"
	"slices"
	"sync"
)

// connections are the connections with other nodes, by a key: an address, or one life of a node.
// When a node is lost they are cut; else a reader would wait for a stopped process until its own,
// much longer time-out, and idle ones would stay open.
type connections struct {
	mu sync.Mutex // a leaf
	of map[string]map[net.Conn]struct{}
}

// add adds a connection to those of a key, until done is called.
func (c *connections) add(key string, conn net.Conn) (done func()) {
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

// count returns how many connections there are.
func (c *connections) count() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, all := range c.of {
		n += len(all)
	}
	return n
}

// keys returns the keys that have connections.
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
	all := slices.Collect(maps.Keys(c.of[key]))
	c.mu.Unlock()
	for _, conn := range all { // Close may call done, which takes mu
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
