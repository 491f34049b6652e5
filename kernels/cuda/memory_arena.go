package cuda

import (
	"fmt"
	"slices"
)

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
// free one that is large enough. Its overhead is what [grain] rounds off.
type arena struct {
	size, used int64            // of all allocations
	sizes      []int64          // of free blocks, ascending
	free       map[int64]*block // those of one size, a list by nextFree
}

// block is a part of an arena.
type block struct {
	at, size           int64
	isFree             bool
	prev, next         *block // neighbours
	prevFree, nextFree *block // others of the same size
}

func newArena() *arena { return &arena{free: map[int64]*block{}} }

// grow adds an allocation of n bytes, n being a multiple of grain.
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
// there is no free one that is large enough.
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

// release gives b back.
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

// check returns what is wrong with the books of an arena of one allocation, given
// any block: it is for tests.
func (a *arena) check(b *block) error {
	for b.prev != nil {
		b = b.prev
	}
	begin := b.at
	at, used := begin, int64(0)
	for ; b != nil; b = b.next {
		switch {
		case b.at != at || b.size <= 0:
			return fmt.Errorf("block at %d of %d bytes, want one at %d", b.at, b.size, at)
		case b.next != nil && (b.next.prev != b || b.isFree && b.next.isFree):
			return fmt.Errorf("blocks at %d and %d: not neighbours, or both free", b.at, b.next.at)
		case !b.isFree:
			used += b.size
		}
		at += b.size
	}
	if at-begin != a.size || used != a.used {
		return fmt.Errorf("%d bytes, %d used; want %d, %d", at-begin, used, a.size, a.used)
	}
	return nil
}
