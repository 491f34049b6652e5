package cluster

import (
	"container/list"
	"slices"

	"github.com/tessera-la/tessera/versions"
)

// derivedCache has what tasks have derived from versions. values.mu guards it.
type derivedCache struct {
	all  list.List // of *derived, the most recently used first
	room int64     // operand bytes from which more may be derived
}

// derivations is what tasks have derived from a version.
type derivations []*derived

// derived is what tasks have derived from a version in a role, to be shared with other tasks that read it.
type derived struct {
	from  *derivations
	bytes int64 // of the operand
	role  int
	value versions.Derived
	at    *list.Element // in derivedCache.all
}

// derivablePerWorker bounds, for each worker, the bytes of the operands from which tasks derive data to share.
// Derived data are as large as the operands. It is enough for panels of some 30 tiles of 512×512.
const derivablePerWorker = 64 << 20

// of returns what tasks have derived in a role from a version of so many bytes. fresh makes it. The least
// recently used derived data make room.
func (c *derivedCache) of(from *derivations, bytes int64, role int, fresh func() versions.Derived) versions.Derived {
	for _, d := range *from {
		if d.role == role {
			c.all.MoveToFront(d.at)
			return d.value
		}
	}
	d := &derived{from: from, bytes: bytes, role: role, value: fresh()}
	d.at = c.all.PushFront(d)
	*from = append(*from, d)
	c.room -= bytes
	for c.room < 0 && c.all.Len() > 1 {
		c.release(c.all.Back().Value.(*derived))
	}
	return d.value
}

// release ends the sharing of derived data.
func (c *derivedCache) release(d *derived) {
	c.room += d.bytes
	c.all.Remove(d.at)
	*d.from = slices.DeleteFunc(*d.from, func(x *derived) bool { return x == d })
	d.value.Release()
}

// releaseAll ends the sharing of all that was derived from a version, which will change.
func (c *derivedCache) releaseAll(from *derivations) {
	for len(*from) > 0 {
		c.release((*from)[0])
	}
}
