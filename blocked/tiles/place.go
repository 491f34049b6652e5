package tiles

import (
	"sync"

	"github.com/tessera-la/tessera/internal/scalar"
)

// The kernel puts a page of memory on the NUMA node of the core that first touches
// it. On a machine with several nodes, this file distributes the tiles of a large
// matrix over the nodes: a thread that is pinned to the cores of a node first touches
// each tile of that node. On a machine with one node it does nothing.
//
// A tile is a block of the Go heap. The block may have been in use before, and its
// pages then lie where they were touched before. So the whole pages of a new tile
// first go back to the kernel, as in Go's own scavenger; they are new, and zero, when
// they are touched again. A page that two tiles share goes to the node that touches it
// first; with transparent huge pages it may have 2 MiB. So the nodes allocate their tiles
// in turn: the heap is then dealt out in few pieces, not tile by tile. Tiles of less than
// placedBytes are left to the allocator, since they would share most of their pages.

// allocate allocates zeros for the stored tiles that have no memory, on their nodes.
// Tile (i, j) belongs to node home.Owner(i, j), modulo the number of nodes. If home is
// nil it belongs to node i + j. That spreads each tile row and column, so a worker
// that goes through one uses the memory of all nodes.
func (a *Matrix[T]) allocate(n *nodes, home Layout) {
	own := make([][]int, len(n.cpus)) // tiles of each node
	for k := range a.tiles {
		if !a.wants(k) {
			continue
		}
		i, j := k/a.nt, k%a.nt
		at := i + j
		if home != nil {
			at = home.Owner(i, j)
		}
		at = (at%len(own) + len(own)) % len(own)
		own[at] = append(own[at], k)
	}
	var wg sync.WaitGroup
	for node, tiles := range own {
		for _, k := range tiles {
			a.tiles[k] = NewTile[T](a.TileDims(k/a.nt, k%a.nt))
		}
		wg.Go(func() {
			// If the thread cannot be pinned, as the mask of the process has
			// changed since the machine was read, the kernel decides.
			release, _ := n.lock(n.cpus[node]...)
			defer release()
			for _, k := range tiles {
				if memory := bytesOf(a.tiles[k].Data); len(memory) >= placedBytes {
					n.renew(memory)
					n.touch(memory)
				}
			}
		})
	}
	wg.Wait()
}

// allocateHere is allocate on the node of the caller.
func (a *Matrix[T]) allocateHere() {
	for k := range a.tiles {
		if a.wants(k) {
			a.tiles[k] = NewTile[T](a.TileDims(k/a.nt, k%a.nt))
		}
	}
}

// wants says that tile k is stored and has no memory yet.
func (a *Matrix[T]) wants(k int) bool {
	return a.tiles[k].Data == nil && a.Stored(k/a.nt, k%a.nt)
}

// place allocates the tiles on their nodes and returns true, if the tiles are large
// enough and this machine has several nodes. Otherwise it returns false.
func (a *Matrix[T]) place(home Layout) bool {
	size := scalar.Size[T]()
	if a.Bytes() <= sequentialBytes || min(a.nb, a.rows)*min(a.nb, a.cols) < placedBytes/size {
		return false
	}
	n := thisMachine()
	if len(n.cpus) < 2 {
		return false
	}
	a.allocate(n, home)
	return true
}
