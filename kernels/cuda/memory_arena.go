package cuda

import "slices"

// grain is the unit of sizes and addresses in an arena: the alignment of
// Device.Alloc.
const grain = 256

// roundUp returns n rounded up to a multiple of unit.
func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// arena divides a few allocations of a device into blocks, so that blocks for tiles
// need no calls of the driver, which would wait for the device.
//
//	│ used │  free   │ used │ used │ free │      neighbours that are free are
//	└──────┴─────────┴──────┴──────┴──────┘      one block
//
// alloc finds a free block of the exact size in constant time, and else takes the
// smallest free block that is large enough. The overhead is the rounding to [grain].
// Tiles of a matrix have few sizes, so most requests find a block that fits exactly.
//
// An arena never touches the memory: addresses are numbers. So an arena also serves
// pinned memory of the host, with addresses from 0 on. It has no lock: an accelerator
// uses its arenas under Accelerator.mu.
//
// These always hold: the blocks of an allocation follow one another without gaps, from
// its beginning to its end; no two neighbours are both free; used is the sum of the sizes
// of the lent blocks.
type arena struct {
	// size is the number of bytes of all allocations, and used that of lent blocks.
	size, used int64
	// free holds the free blocks of each size, as a list by nextFree. sizes holds its
	// keys, ascending.
	sizes []int64
	free  map[int64]*block
}

// block is a part of an arena, lent or free.
type block struct {
	at, size int64
	isFree   bool
	// prev and next are its neighbours in the same allocation. prevFree and nextFree are
	// other free blocks of its size.
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

// alloc returns a block of n bytes, n being a multiple of grain, or nil if no free
// block is large enough. If the free block is larger, the rest behind the new block
// stays free.
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

// release frees b, and joins it with free neighbours: no two free blocks are ever
// neighbours.
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

// hole returns the size of the free block that the release of b would make.
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

// addFree makes b a free block, the first of those of its size: the block released last
// is lent first.
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

// takeFree undoes addFree.
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
