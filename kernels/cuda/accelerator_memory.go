package cuda

import (
	"errors"
	"unsafe"
)

// Memory of the device comes from these sources:
//
//	device ── Alloc ──► parts ──► cache.arena ──► blocks of tiles
//	                                          └─► large scratch memory of calls
//	       ── Alloc, 1 MiB ─────► small ────────► scratch memory up to 64 KiB
//
// The arena grows by doubling, up to the limit. At the limit makeRoom evicts clean tiles,
// then writes dirty ones back. As the last resort repack evicts everything.
//
// Three requests wait for room: for an operand, for scratch memory that is reserved before
// a version is called, and for scratch memory that a version asks for beyond that. The
// first two may call repack. The third may not, since the version already has the
// addresses of its operands: it gets an *[OutOfMemoryError].
//
// No wait here lasts for ever. Work that is under way ends by itself, and without such
// work makeRoom reports that it is stuck.

// grow allocates memory for n bytes, if the arena has no room and may grow. If the device has
// less than the limit, the limit becomes that. An error means that the device has failed, or has
// no memory at all; less than n is no error, as makeRoom has other means. The caller holds mu.
func (a *Accelerator) grow(n int64) error {
	c := a.cache
	size := c.growth(n)
	if size == 0 {
		return nil
	}
	if err := a.growSmall(); err != nil { // before tiles take all there is
		if _, ok := errors.AsType[*OutOfMemoryError](err); ok {
			c.limit = c.arena.size // for Fits
		}
		return err
	}
	// Other programs may have taken memory since the limit was set. Then the arena grows
	// by less, and the limit becomes the memory that there is.
	for {
		p, err := a.device.Alloc(size)
		if err == nil {
			a.parts = append(a.parts, p)
			c.arena.grow(int64(p), size)
			return nil
		}
		var full *OutOfMemoryError
		if !errors.As(err, &full) {
			a.failed(err)
			return err
		}
		// The free memory may be in several pieces, so the next size is smaller, too.
		if size = min(full.Free, size-size/16-grain) / grain * grain; size < n {
			c.limit = c.arena.size
			if c.limit == 0 {
				return err
			}
			return nil
		}
		c.limit = c.arena.size + size
	}
}

// growSmall allocates the memory for small scratch, once. It stays until Close. The caller holds
// mu.
func (a *Accelerator) growSmall() error {
	if a.under != 0 {
		return nil
	}
	p, err := a.device.Alloc(smallBytes)
	if err != nil {
		a.failed(err)
		return err
	}
	a.under = p
	a.small.grow(int64(p), smallBytes)
	return nil
}

// makeRoom calls try until it reports true, to place n bytes. It writes back the entry that try
// returns, and waits for what is under way: calls that end release scratch memory and operands,
// copies that end make values clean. It reports stuck if nothing is left to write back or to wait
// for: the free memory is fragmented. The caller holds mu.
func (a *Accelerator) makeRoom(n int64, try func() (bool, *entry)) (stuck bool, err error) {
	if err := a.grow(n); err != nil {
		return false, err
	}
	for k := 0; ; k++ {
		if a.lost != nil {
			return false, a.lost
		}
		// try starts from scratch each time: while mu was unlocked, free room may have
		// changed, and the entry of the last round may have been evicted.
		ok, dirty := try()
		switch {
		case ok:
			return false, nil
		case dirty != nil:
			a.startOut(dirty)
			a.out.hurry(dirty)
		case a.moving == 0 && len(a.flying) == 0:
			return true, nil
		}
		a.pause(k)
	}
}

// repack is the last resort against fragmentation: it evicts everything from the device, so that
// r's operands and extra bytes fit in one piece of memory. It costs a copy out of every dirty
// value, and a copy in of what is used again. Nothing is under way. The caller holds mu.
//
// Afterwards r holds its operands as before, without blocks. If it fails r still holds them:
// abandon releases them.
func (a *Accelerator) repack(r *running, extra int64) error {
	// r's own operands are evicted, too. So they are released here and held again
	// below. Nothing is under way that could take the room that they leave.
	a.stats.Repacks++
	for _, u := range r.ops {
		a.cache.release(u.e)
	}
	a.giveBack(r)
	err := a.empty()
	var size int64
	for i := range r.ops {
		r.ops[i].in = nil
		a.cache.hold(r.ops[i].e)
		size += r.ops[i].e.size
	}
	if extra > smallScratch {
		size += roundUp(extra, grain)
	}
	// If the largest piece of the empty arena is too small, the arena consists of several
	// allocations.
	if err == nil && a.cache.arena.largest() < size {
		err = a.join(size)
	}
	if err != nil {
		return err
	}
	return a.fits(size, 0)
}

// empty evicts everything from the device. It begins all copies out before it waits for the
// first. The caller holds mu.
func (a *Accelerator) empty() error {
	for n := 0; ; n++ {
		left := false
		for _, e := range a.cache.entries {
			switch {
			case a.lost != nil:
				return a.lost
			case e.block == nil:
			case e.busy():
				left = true
			case e.state == modified:
				a.startOut(e)
				left = true
			default:
				a.cache.drop(e)
			}
		}
		if !left {
			return nil
		}
		a.pause(n)
	}
}

// join replaces the allocations of the empty arena by one of at least n bytes. It frees the old
// ones first, as the device has no room for both. If the new one is smaller than expected, join
// lowers the limit, and repack returns that the operands do not fit. The caller holds mu.
func (a *Accelerator) join(n int64) error {
	for _, p := range a.parts {
		if err := a.device.Free(p); err != nil {
			a.failed(err)
			return err
		}
	}
	a.parts = nil
	a.cache.arena = newArena()
	return a.grow(n)
}

// scratch lends r n bytes of the device until settle; n is a multiple of grain. Small
// blocks come from an arena of their own, so that they do not fragment the room for tiles.
// If reserve is true, the bytes become r's spare memory, which running.scratch hands out
// in pieces. The caller holds mu.
func (a *Accelerator) scratch(r *running, n int64, reserve bool) (Ptr, error) {
	var x lent
	var stuck bool
	var err error
	if n <= smallScratch {
		if err := a.growSmall(); err != nil {
			return 0, err
		}
		x.of = a.small
		stuck, err = a.makeRoom(0, func() (bool, *entry) {
			x.b = a.small.alloc(n)
			return x.b != nil, nil
		})
	} else {
		x.of = a.cache.arena
		stuck, err = a.makeRoom(n, func() (ok bool, dirty *entry) {
			x.b, dirty = a.cache.room(n, false)
			return x.b != nil, dirty
		})
	}
	if stuck && reserve {
		if err = a.repack(r, n); err == nil {
			return a.scratch(r, n, reserve)
		}
	}
	if err != nil {
		return 0, err
	}
	if stuck {
		return 0, &OutOfMemoryError{Device: a.opt.Name, Want: n, Free: x.of.largest()}
	}
	r.blocks = append(r.blocks, x)
	p := Ptr(x.b.at)
	if reserve {
		r.spare, r.spareEnd = p, p+Ptr(n)
	}
	return p, nil
}

// scratch lends the call n bytes of the device. The version calls it without mu. It hands out the
// reserved memory from the front without a lock, as only the goroutine that runs the version
// calls it. A version that asks for more than it declared may have to wait here for memory, but for
// nothing that needs this call to end.
func (r *running) scratch(n int64) (Ptr, error) {
	n = roundUp(n, grain)
	if r.spare+Ptr(n) <= r.spareEnd {
		p := r.spare
		r.spare += Ptr(n)
		return p, nil
	}
	a := r.owner
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.scratch(r, n, false)
}

// pinned lends the call n bytes of the host. The version calls it without mu.
func (r *running) pinned(n int64) (unsafe.Pointer, error) {
	a := r.owner
	a.mu.Lock()
	defer a.mu.Unlock()
	p, err := a.pins.lend(n)
	if err != nil {
		return nil, err
	}
	r.pins = append(r.pins, p)
	return p.p, nil
}

// smallScratch is the size up to which scratch memory is small. smallBytes is the size of the
// allocation for all small scratch memory.
const (
	smallScratch = 64 << 10
	smallBytes   = 1 << 20
)

// fits is Fits for the size of all operands. Small scratch memory has an allocation of its own.
// Other scratch memory is one block of the arena beside the operands, so it is rounded as they
// are. The caller holds mu.
func (a *Accelerator) fits(size, extra int64) error {
	if extra > smallScratch {
		size += roundUp(extra, grain)
	}
	if have := a.cache.limit; size > have {
		return &TooLargeError{Device: a.opt.Name, Want: size, Have: have}
	}
	return nil
}
