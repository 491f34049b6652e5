package sim

// Cache is what the last cache of a socket holds: the data that were used last, by what tells
// them apart. The zero Cache holds everything.
type Cache[K comparable] struct {
	room int64
	at   map[K]*line[K]
	head line[K] // of a ring, the last to be used first
	free *line[K]
}

// line is a datum in a cache.
type line[K comparable] struct {
	next, prev *line[K]
	of         K
	bytes      int64
}

// Init has the cache hold so many bytes, none of which are used yet; 0: everything.
func (c *Cache[K]) Init(bytes int64) {
	*c = Cache[K]{room: bytes}
	if bytes > 0 {
		c.at = map[K]*line[K]{}
		c.head.next, c.head.prev = &c.head, &c.head
	}
}

// Use has a datum used, and returns its bytes if it was not there.
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
