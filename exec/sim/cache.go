package sim

import "container/list"

// Cache is the last-level cache of a socket: the data used last, by key. The zero Cache holds
// everything.
type Cache[K comparable] struct {
	room  int64
	at    map[K]*list.Element
	order list.List // of line[K], the last used first
}

// line is a datum in a cache.
type line[K comparable] struct {
	of    K
	bytes int64
}

// Init makes the cache empty, with a capacity in bytes; 0: it holds everything.
func (c *Cache[K]) Init(bytes int64) {
	*c = Cache[K]{room: bytes}
	if bytes > 0 {
		c.at = map[K]*list.Element{}
	}
}

// Use notes a use of a datum, and returns its bytes if it was not in the cache.
func (c *Cache[K]) Use(d K, bytes int64) (far int64) {
	if c.at == nil {
		return 0
	}
	if e := c.at[d]; e != nil {
		c.order.MoveToFront(e)
		return 0
	}
	c.at[d] = c.order.PushFront(line[K]{d, bytes})
	for c.room -= bytes; c.room < 0; {
		l := c.order.Remove(c.order.Back()).(line[K])
		c.room += l.bytes
		delete(c.at, l.of)
	}
	return bytes
}
