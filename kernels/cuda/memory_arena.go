package cuda

import "slices"

// grain is what sizes and addresses in an arena are multiples of: the alignment
// of Device.Alloc.
const grain = 256

// roundUp returns n rounded up to a multiple of unit.
func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// arena divides a few allocations of a device into blocks, so that tiles come
// and go without calls of the driver, which would wait for the device.
//
//	│ used │  free   │ used │ used │ free │      neighbours that are free are
//	└──────┴─────────┴──────┴──────┴──────┘      one block
//
// A block is found by its exact size in constant time, else in the smallest
// free one that is large enough. Its overhead is what [grain] rounds off. Tiles of a
// matrix are of few sizes: so most blocks are found at once, and fit exactly.
//
// It only keeps accounts and never touches the memory: addresses are numbers. It also
// serves pinned memory of the host, from address 0 on. It has no lock: those of an
// accelerator are used under Accelerator.mu.
//
// What always holds: the blocks of an allocation follow one another without gaps, from
// its beginning to its end; no two that are neighbours are free; used is the sum of the
// sizes of those that are not.
type arena struct {
	// size is the bytes of all allocations, used those of blocks that are lent.
	size, used int64
	// free holds the blocks of each size, as a list by nextFree, and sizes its keys,
	// ascending.
	sizes []int64
	free  map[int64]*block
}

// block is a part of an arena, lent or free.
type block struct {
	at, size int64
	isFree   bool
	// prev and next are its neighbours in the same allocation, and prevFree and
	// nextFree other free ones of its size.
	prev, next         *block
	prevFree, nextFree *block
}

func newArena() *arena { return &arena{free: map[int64]*block{}} }

// grow adds an allocation of n bytes, n being a multiple of grain. Blocks of
// different allocations are never joined, even if one lies behind the other.
func (a *arena) grow(at, n int64) {
	a.size += n
	a.addFree(&block{at: at, size: n})
}

// largest returns the size of the largest free block.
func (a *arena) largest() int64 {
	if len(a.sizes) == 0 {
		return 0
	}
	return a.sizes[len(a.sizes)-1]
}

// alloc returns a block of n bytes, n being a multiple of grain, or nil if
// there is no free one that is large enough. The rest of a larger one stays free,
// behind it.
func (a *arena) alloc(n int64) *block {
	i, _ := slices.BinarySearch(a.sizes, n)
	if i == len(a.sizes) {
		return nil
	}
	b := a.free[a.sizes[i]]
	a.takeFree(b)
	if b.size > n {
		rest := &block{at: b.at + n, size: b.size - n, prev: b, next: b.next}
		if b.next != nil {
			b.next.prev = rest
		}
		b.next, b.size = rest, n
		a.addFree(rest)
	}
	a.used += n
	return b
}

// release gives b back, and joins it with neighbours that are free: no two free
// blocks are ever neighbours.
func (a *arena) release(b *block) {
	if b.isFree {
		panic("cuda: a block is released twice")
	}
	a.used -= b.size
	if p := b.prev; p != nil && p.isFree {
		a.takeFree(p)
		a.join(p, b)
		b = p
	}
	if n := b.next; n != nil && n.isFree {
		a.takeFree(n)
		a.join(b, n)
	}
	a.addFree(b)
}

// join adds n, the neighbour behind b, to b.
func (a *arena) join(b, n *block) {
	b.size += n.size
	b.next = n.next
	if n.next != nil {
		n.next.prev = b
	}
}

// hole returns how large the free block would be that b's release made.
func (b *block) hole() int64 {
	n := b.size
	if b.prev != nil && b.prev.isFree {
		n += b.prev.size
	}
	if b.next != nil && b.next.isFree {
		n += b.next.size
	}
	return n
}

// addFree enters b in the books as free, first among those of its size: what was
// released last is lent first.
func (a *arena) addFree(b *block) {
	b.isFree = true
	head := a.free[b.size]
	if head == nil {
		i, _ := slices.BinarySearch(a.sizes, b.size)
		a.sizes = slices.Insert(a.sizes, i, b.size)
	} else {
		head.prevFree = b
	}
	b.prevFree, b.nextFree = nil, head
	a.free[b.size] = b
}

// takeFree undoes it.
func (a *arena) takeFree(b *block) {
	b.isFree = false
	if b.nextFree != nil {
		b.nextFree.prevFree = b.prevFree
	}
	switch {
	case b.prevFree != nil:
		b.prevFree.nextFree = b.nextFree
	case b.nextFree != nil:
		a.free[b.size] = b.nextFree
	default:
		delete(a.free, b.size)
		i, _ := slices.BinarySearch(a.sizes, b.size)
		a.sizes = slices.Delete(a.sizes, i, i+1)
	}
	b.prevFree, b.nextFree = nil, nil
}
