package sim

// Cache is the last-level cache of a socket: the data used last, by key. The zero Cache holds
// everything.
type Cache[K comparable] struct {
	room int64
	at   map[K]*line[K]
	head line[K] // head of a ring, the last used first
	free *line[K]
}

// line is a datum in a cache.
type line[K comparable] struct {
	next, prev *line[K]
	of         K
	bytes      int64
}

// Init makes the cache empty, with a capacity in bytes; 0: it holds everything.
func (c *Cache[K]) Init(bytes int64) {
	*c = Cache[K]{room: bytes}
	if bytes > 0 {
		c.at = map[K]*line[K]{}
		c.head.next, c.head.prev = &c.head, &c.head
	}
}

// Use notes a use of a datum, and returns its bytes if it was not in the cache.
func (c *Cache[K]) Use(d K, bytes int64) (far int64) {
	if c.at == nil {
		return 0
	}
	l := c.at[d]
	if l == nil {
		if l = c.free; l == nil {
			l = &line[K]{}
		} else {
			c.free = l.next
		}
		l.of, l.bytes = d, bytes
		c.at[d] = l
		c.room -= bytes
		far = bytes
	} else {
		l.next.prev, l.prev.next = l.prev, l.next
	}
	l.next, l.prev = c.head.next, &c.head
	l.next.prev, c.head.next = l, l
	for c.room < 0 {
		l := c.head.prev
		l.prev.next, c.head.prev = &c.head, l.prev
		c.room += l.bytes
		delete(c.at, l.of)
		*l = line[K]{next: c.free}
		c.free = l
	}
	return far
}
