package cuda

import (
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/versions"
)

// The types cache, entry and list are in accelerator_types.go: an entry knows the transfer and the calls that use it,
// and these know the accelerator, which has the cache.

// newCache returns a cache without entries. Its arena is empty, and may grow to limit bytes, less what is not a
// multiple of the arena's grain.
func newCache(limit int64) *cache {
	return &cache{arena: newArena(), limit: limit / grain * grain, entries: map[versions.Stored]*entry{}}
}

// minGrowth is the smallest growth of an arena in bytes, unless the limit leaves less.
const minGrowth = 64 << 20

// growth returns by how much the arena should grow, before anything is evicted, to have room for
// n bytes: it doubles. It is 0 if there is room, or if the arena may not grow.
func (c *cache) growth(n int64) int64 {
	if c.arena.largest() >= n || c.limit-c.arena.size < n {
		return 0
	}
	return min(max(n, c.arena.size, minGrowth), c.limit-c.arena.size)
}

// devicePitch returns the distance of rows of m on the device. As a rule it is that of
// the host, so that the tile is copied in one piece. The tile may be part of a matrix
// with long rows, whose padding would be most of the block. Rows then begin at multiples
// of 64 bytes, as those of tiles do.
func devicePitch(m versions.Memory) int64 {
	if tight := roundUp(m.Width, 64); m.Pitch > tight {
		return tight
	}
	return m.Pitch
}

// deviceSize returns the bytes that m takes on the device.
func deviceSize(m versions.Memory) int64 {
	if m.Rows <= 0 || m.Width <= 0 {
		return 0
	}
	return roundUp(devicePitch(m)*int64(m.Rows-1)+m.Width, grain)
}

// entry returns the entry of a value.
func (c *cache) entry(key versions.Stored) *entry {
	e := c.entries[key]
	if e == nil {
		e = &entry{key: key}
		c.entries[key] = e
	}
	return e
}

// entryFor is entry, and notes that job uses the value. It asks for the layout, which does not
// change while a job uses the value or the device has it. A retained value may get its memory later.
func (c *cache) entryFor(key versions.Stored, job uint64) *entry {
	e := c.entry(key)
	if len(e.jobs) == 0 && e.block == nil {
		m := key.Memory()
		e.mem, e.pitch, e.size = m, devicePitch(m), deviceSize(m)
	}
	if !slices.Contains(e.jobs, job) {
		e.jobs = append(e.jobs, job)
	}
	return e
}

// bytes returns the number of bytes that a copy of e moves.
func (e *entry) bytes() int64 { return bytesOf(e.mem) }

// bytesOf returns the number of bytes that a copy of m moves.
func bytesOf(m versions.Memory) int64 { return int64(m.Rows) * m.Width }

// storedOf returns the value of which a device keeps a copy for an operand, or nil if the operand
// stays on the host. The error is a *NotStoredError.
func storedOf(value any) (versions.Stored, error) {
	switch v := value.(type) {
	case versions.Stored:
		return v, nil
	case versions.Value:
		return nil, nil
	}
	return nil, &NotStoredError{fmt.Sprintf("%T", value)}
}

// distinct appends the values that a device stores to all, each once, and returns the device
// memory of the new ones. The error is a *NotStoredError.
func distinct(all []versions.Stored, values []any) (_ []versions.Stored, size int64, err error) {
	for _, v := range values {
		s, err := storedOf(v)
		if err != nil {
			return nil, 0, err
		}
		if s != nil && !slices.Contains(all, s) {
			all = append(all, s)
			size += deviceSize(s.Memory())
		}
	}
	return all, size, nil
}

// hold keeps e in its block until release.
func (c *cache) hold(e *entry) {
	e.holds++
	c.refile(e)
}

// release undoes a hold.
func (c *cache) release(e *entry) {
	e.holds--
	c.refile(e)
}

// touch notes that the current launch uses e.
func (c *cache) touch(e *entry) {
	if e.last > 0 {
		e.gap = c.now - e.last
	}
	e.last = c.now
	e.wanted = 0
}

// beginIn notes that a copy of e to the device is under way.
func (c *cache) beginIn(e *entry) {
	e.in = true
	c.refile(e)
}

// endIn notes the end of a copy in. If ok, the device has the value, too.
func (c *cache) endIn(e *entry, ok bool) {
	e.in = false
	if ok {
		e.state = shared
	}
	c.refile(e)
}

// beginOut notes that a copy of e to the host is under way.
func (c *cache) beginOut(e *entry) {
	e.out = true
	c.refile(e)
}

// endOut notes the end of a copy out. If ok, the host has the value again.
func (c *cache) endOut(e *entry, ok bool) {
	e.out = false
	if ok {
		e.state = shared
	}
	c.refile(e)
}

// wrote notes that a call has written e.
func (c *cache) wrote(e *entry) {
	e.state = modified
	c.refile(e)
}

// busy reports whether e must stay in its block.
func (e *entry) busy() bool { return e.holds > 0 || e.in || e.out }

// drop evicts the device's copy of e, which nothing uses. The entry stays.
func (c *cache) drop(e *entry) {
	if e.busy() {
		panic("cuda: a value is dropped that is in use")
	}
	e.state = invalid
	e.wanted = 0
	if e.block != nil {
		b := e.block
		e.block = nil
		c.refile(e)
		c.arena.release(b)
	}
}

// refile puts e into the list of its state. In its present list e keeps its place; an entry that
// was written back becomes the first of the clean list, the least recently used.
func (c *cache) refile(e *entry) {
	var to *list
	old := false
	switch {
	case e.block == nil || e.holds > 0 || e.in:
	case e.out:
		to = &c.leaving
	case e.state == modified:
		to = &c.dirty
	default:
		to, old = &c.clean, e.list == &c.leaving
	}
	if to == e.list {
		return
	}
	if e.list != nil {
		e.list.remove(e)
	}
	if to != nil {
		to.insert(e, old)
	}
}

// insert adds e as the most recently used entry, or as the first one.
func (l *list) insert(e *entry, first bool) {
	e.list = l
	l.bytes += e.size
	switch {
	case l.first == nil:
		l.first, l.last = e, e
	case first:
		e.next, l.first.prev = l.first, e
		l.first = e
	default:
		e.prev, l.last.next = l.last, e
		l.last = e
	}
}

// remove takes e out of l, which has it.
func (l *list) remove(e *entry) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		l.last = e.prev
	}
	e.list, e.prev, e.next = nil, nil, nil
	l.bytes -= e.size
}
