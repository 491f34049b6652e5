package cluster

import "github.com/tessera-la/tessera/versions"

// recycler keeps the memory of values that are no longer used, for new values. values.mu guards it.
type recycler struct {
	free  map[valueKind][]recyclable
	bytes int64
}

// valueKind identifies values that can take each other's place.
type valueKind struct{ name, shape string }

// recyclable is a value whose memory can be reused.
type recyclable interface {
	versions.Shaped
	versions.Stored
}

// add adds a value of a kind.
func (c *recycler) add(k valueKind, v recyclable) {
	if c.free == nil {
		c.free = map[valueKind][]recyclable{}
	}
	c.free[k] = append(c.free[k], v)
	c.bytes += bytesOf(v)
}

// take removes and returns a value of a kind, nil if there is none.
func (c *recycler) take(k valueKind) recyclable {
	all := c.free[k]
	if len(all) == 0 {
		return nil
	}
	v := all[len(all)-1]
	all[len(all)-1] = nil
	if c.free[k] = all[:len(all)-1]; len(all) == 1 {
		delete(c.free, k)
	}
	c.bytes -= bytesOf(v)
	return v
}

// shrink drops values until they have at most maxBytes.
func (c *recycler) shrink(maxBytes int64) {
	for k := range c.free {
		for c.bytes > maxBytes && c.take(k) != nil {
		}
	}
}

// bytesOf returns the bytes of a value, 0 if they are not known.
func bytesOf(v any) int64 {
	if v, ok := v.(versions.Value); ok {
		return v.Bytes()
	}
	return 0
}
