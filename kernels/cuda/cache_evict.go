package cuda

import "math"

// place gives e a block, and reports whether e has one. It evicts clean entries if it must.
// Otherwise it returns the entry to write back first, or nil if something under way has to end;
// the caller does that, waits, and calls it again (see Accelerator.makeRoom).
//
// A cold place is for a value that no call waits for yet. It evicts nothing that is expected to be
// used again.
func (c *cache) place(e *entry, cold bool) (ok bool, save *entry) {
	b, save := c.room(e.size, cold)
	if b == nil {
		return false, save
	}
	e.block = b
	c.refile(e)
	return true, nil
}

// room returns a block of n bytes; or nil and the entry to write back for it; or nil and nil if
// something under way has to end.
func (c *cache) room(n int64, cold bool) (*block, *entry) {
	for {
		if b := c.arena.alloc(n); b != nil {
			return b, nil
		}
		// One victim may not be enough, as blocks differ in size and only neighbours
		// make a larger hole. The loop evicts until n bytes fit or there is no victim.
		v := c.victim(n, cold)
		switch {
		// If enough bytes are being written back already, no more are.
		case v == nil || v.out || v.state == modified && c.leaving.bytes >= n:
			return nil, nil
		case v.state == modified:
			return nil, v
		}
		c.evictions++
		c.drop(v)
	}
}

// reach is the number of entries from either end of a list that are examined as victims. A small
// cache, where a wrong choice costs most, is examined as a whole; in a large one a choice costs
// no more.
const reach = 16

// never is the distance of a use that is not expected.
const never = math.MaxInt32

// victim returns the entry to evict so that n bytes have room: of the unused entries the one
// whose next use is farthest away, after Belady. [cache.distance] estimates that. A dirty entry
// must be farther away than a clean one, as its eviction takes a copy and a wait.
//
// LRU has no such estimate. A tiled factorization goes through a column of tiles again and again;
// if that is longer than the cache, LRU evicts every tile just before its next use.
func (c *cache) victim(n int64, cold bool) *entry {
	var best *entry
	var bestFits bool
	bestScore := int64(-1)
	// An entry whose room is enough, with the holes beside it, comes before one whose
	// room is not. Otherwise small tiles would be evicted one by one for a large one.
	look := func(e *entry, score int64) {
		if cold && score < never {
			return
		}
		fits := e.block.hole() >= n
		if fits && !bestFits || fits == bestFits && score > bestScore {
			best, bestScore, bestFits = e, score, fits
		}
	}
	// A clean entry counts as twice as far away.
	c.clean.ends(func(e *entry) { look(e, 2*c.distance(e)) })
	if cold {
		return best
	}
	c.leaving.ends(func(e *entry) { look(e, 2*c.distance(e)) })
	c.dirty.ends(func(e *entry) { look(e, c.distance(e)) })
	return best
}

// soon is the number of launches for which a value stays wanted. There is a limit because the
// call that was expected may have been placed elsewhere.
const soon = 64

// distance estimates in how many launches e will be used next, from the gap between its
// last two uses.
//
//	uses      ×─────gap─────×────age────┬──distance──┄×
//	                      last         now
//
// A value that was used only once is not expected again. One that is overdue is expected
// less the longer it is overdue.
func (c *cache) distance(e *entry) int64 {
	age := c.now - e.last
	switch {
	case e.wanted > 0 && c.now-e.wanted <= soon:
		return 0
	case e.gap == 0:
		return never
	case age <= e.gap:
		return e.gap - age
	default: // overdue: the longer, the less likely
		return never + age
	}
}

// ends calls f for the first and the last entries of l, at most reach from either end.
func (l *list) ends(f func(*entry)) {
	i, e := 0, l.first
	for ; e != nil && i < reach; e, i = e.next, i+1 {
		f(e)
	}
	if e == nil {
		return
	}
	stop := e.prev
	for e, i = l.last, 0; e != stop && i < reach; e, i = e.prev, i+1 {
		f(e)
	}
}

// tired returns the dirty entry whose next use is farthest away, or nil if all dirty
// entries are about to be used.
func (c *cache) tired() *entry {
	var best *entry
	score := int64(0)
	c.dirty.ends(func(e *entry) {
		if d := c.distance(e); d > score {
			best, score = e, d
		}
	})
	return best
}

// finished returns a dirty entry that seems to have been written for the last time, or
// nil. Such an entry was used more than once, and then not for more than twice its gap.
func (c *cache) finished() *entry {
	var best *entry
	longest := int64(8) // launches: a shorter pause does not count
	c.dirty.ends(func(e *entry) {
		if age := c.now - e.last; e.gap > 0 && age > 2*e.gap && age > longest {
			best, longest = e, age
		}
	})
	return best
}
