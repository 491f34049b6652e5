package parts

import (
	"iter"
	"slices"
	"sort"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// Collection is a sequence of items in blocks. Each block lies in one place. Collections are [RowBlocks],
// [Lists], a csr.Matrix of package la/csr, and types of the program.
type Collection interface {
	// Blocks returns the number of blocks.
	Blocks() int
	// Items returns the number of items of a block, at least 0.
	Items(block int) int
	// Bytes returns the size of a block in bytes. [Split] makes partitions of about equal size.
	Bytes(block int) int64
	// Locate returns the place of each block: the exec.Worker.Location of workers of this
	// process, or −1 if it is not known. It looks up all blocks at once, and moves none: see
	// [Near].
	Locate(rt exec.Runtime) []int
}

// Spread is a [Collection] whose blocks may lie on several nodes: [TileBlocks], or a
// csr.Distributed of package la/csr.
type Spread interface {
	Collection
	// OverNodes reports whether the places are nodes. Locate then returns the numbers of nodes, as
	// exec.Kept does.
	OverNodes() bool
}

// Partition is a group of blocks of a [Collection] that lie in one place. One worker at a time
// processes them.
type Partition struct {
	// Location is an exec.Worker.Location, or the number of a node, 0 for this process, if the
	// blocks of a [Spread] lie on nodes.
	Location int

	blocks []int // ascending
	firsts []int // the number, in the collection, of the first item of each block
	starts []int // where each block begins among the items of all partitions, and the end
}

// Indexes returns the numbers of the partition's blocks, ascending. The caller must not change the
// slice.
func (p *Partition) Indexes() []int { return p.blocks }

// Len returns the number of items.
func (p *Partition) Len() int { return p.starts[len(p.blocks)] - p.starts[0] }

// ItemIndexes returns the numbers that the partition's items have in the collection,
// ascending.
func (p *Partition) ItemIndexes() iter.Seq[int] {
	return func(yield func(int) bool) {
		for k, first := range p.firsts {
			for i := range p.starts[k+1] - p.starts[k] {
				if !yield(first + i) {
					return
				}
			}
		}
	}
}

// Span is the items Lo to Hi−1 of a block. In the collection they have the numbers First, First+1, …
type Span struct{ Block, Lo, Hi, First int }

// Partitions are the groups into which [Split] divides the blocks of a [Collection]. They hold only
// numbers of blocks and items. So they remain valid when items change, but not when blocks are
// added, removed, or changed in size.
//
// Partitions order the items of the collection: the items of the first partition come first, block
// by block. A loop over all items in this order lets each worker begin with items near to it:
//
//	err := loop.For(ctx, rt, ps.Len(), loop.Options{Parts: ps.Parts()}, func(c loop.Chunk) error {
//		for s := range ps.Spans(c.Lo, c.Hi) {
//			block := points.Block(s.Block)
//			for i := s.Lo; i < s.Hi; i++ {
//				… // item s.First + i − s.Lo of the collection
//			}
//		}
//		return nil
//	})
//
// The blocks of a [Spread] may lie on nodes. Then a task goes through a partition: its operands are
// the blocks, and its op must be known to all nodes. See [loop.Submit].
type Partitions struct {
	list   []Partition
	blocks []int // of all partitions, one after the other; firsts and starts are in this order
	firsts []int
	starts []int
}

// Split groups the blocks of a collection into partitions. It looks up the places of all blocks at
// once, and copies or moves nothing.
//
// Each place with blocks gets multiplicity partitions, or one for each of its workers if multiplicity
// is 0, but no more than it has blocks. The partitions of a place have about equal numbers of bytes,
// and their blocks are in order. A block whose place is not known, or has no workers, goes to the
// place with the fewest bytes per worker.
//
// It panics with ErrShape if multiplicity, or a number that the collection returns, is negative.
//
// Reference: SplIter, in Barcelo, Queralt, Cortes, Enhancing iteration performance on
// distributed task-based workflows, 2023.
func Split(rt exec.Runtime, c Collection, multiplicity int) *Partitions {
	places := placesOf(rt.Workers())
	if s, ok := c.(Spread); ok && s.OverNodes() {
		places = nodesOfWorkers(exec.Working(rt))
	}
	return split(sizesOf(c), c.Locate(rt), places, multiplicity)
}

// sizesOf returns the sizes of the blocks of c.
func sizesOf(c Collection) []blockSize {
	sizes := make([]blockSize, c.Blocks())
	for b := range sizes {
		sizes[b] = blockSize{c.Items(b), c.Bytes(b)}
	}
	return sizes
}

// blockSize is the size of a block. Partitions depend on it and on the place of the block.
type blockSize struct {
	items int
	bytes int64
}

// place is a location or a node that has workers, and the blocks there.
type place struct {
	location, workers int
	bytes             int64
	blocks            []int
}

// placesOf returns the places of the workers on cores of this process, in the order of the workers.
func placesOf(workers []exec.Worker) (places []place) {
	for _, w := range workers {
		if w.Accelerator != "" || w.Host != "" {
			continue
		}
		i := slices.IndexFunc(places, func(p place) bool { return p.location == w.Location })
		if i < 0 {
			i = len(places)
			places = append(places, place{location: w.Location})
		}
		places[i].workers++
	}
	return places
}

// nodesOfWorkers returns the nodes of the workers on cores as places. This process is node 0.
func nodesOfWorkers(workers []exec.Worker) []place {
	nodes := slices.Clone(workers)
	for i := range nodes {
		if nodes[i].Host == "" {
			nodes[i].Location = 0
		}
		nodes[i].Host = ""
	}
	return placesOf(nodes)
}

// split is Split for blocks with the given sizes at the given locations, and for the given places of
// workers.
func split(sizes []blockSize, at []int, places []place, multiplicity int) *Partitions {
	if multiplicity < 0 || len(at) != len(sizes) {
		panic(blocked.ErrShape)
	}
	// Blocks with a known place come first. The others then go where the fewest bytes per worker are.
	var strays []int
	for b, s := range sizes {
		if s.items < 0 || s.bytes < 0 {
			panic(blocked.ErrShape)
		}
		i := slices.IndexFunc(places, func(p place) bool { return p.location == at[b] })
		if i < 0 {
			strays = append(strays, b)
			continue
		}
		places[i].add(b, s)
	}
	for _, b := range strays {
		best := 0
		for i := range places {
			if float64(places[i].bytes)/float64(places[i].workers) < float64(places[best].bytes)/float64(places[best].workers) {
				best = i
			}
		}
		places[best].add(b, sizes[b])
	}
	firsts := make([]int, len(sizes))
	for b := 1; b < len(sizes); b++ {
		firsts[b] = firsts[b-1] + sizes[b-1].items
	}
	ps := &Partitions{starts: []int{0}}
	for i := range places {
		slices.Sort(places[i].blocks)
		ps.blocks = append(ps.blocks, places[i].blocks...)
	}
	for _, b := range ps.blocks {
		ps.firsts = append(ps.firsts, firsts[b])
		ps.starts = append(ps.starts, ps.starts[len(ps.starts)-1]+sizes[b].items)
	}
	from := 0
	for i := range places {
		p := &places[i]
		n := multiplicity
		if n == 0 {
			n = p.workers
		}
		for _, count := range cut(p.blocks, sizes, min(n, len(p.blocks))) {
			to := from + count
			ps.list = append(ps.list, Partition{Location: p.location, blocks: ps.blocks[from:to:to], firsts: ps.firsts[from:to:to], starts: ps.starts[from : to+1 : to+1]})
			from = to
		}
	}
	return ps
}

// add adds a block to the place.
func (p *place) add(block int, s blockSize) {
	p.blocks = append(p.blocks, block)
	p.bytes += s.bytes
}

// cut divides blocks into n runs of about equal bytes, none of them empty. It returns how many
// blocks each run has.
func cut(blocks []int, sizes []blockSize, n int) (counts []int) {
	var left float64
	for _, b := range blocks {
		left += float64(sizes[b].bytes)
	}
	for ; n > 0; n-- {
		want, has, count := left/float64(n), 0.0, 0
		for count == 0 || len(blocks)-count >= n { // leaves one block for each later run
			size := float64(sizes[blocks[count]].bytes)
			// A block at the boundary of two runs goes to the one with the larger part of it.
			if count > 0 && n > 1 && has+size/2 > want {
				break
			}
			has += size
			if count++; count == len(blocks) {
				break
			}
		}
		counts = append(counts, count)
		blocks, left = blocks[count:], left-has
	}
	return counts
}

// Partitions returns the partitions.
func (ps *Partitions) Partitions() []Partition { return ps.list }

// Len returns the number of items of all partitions.
func (ps *Partitions) Len() int { return ps.starts[len(ps.blocks)] }

// Parts returns the partitions as parts of a loop over [Partitions.Len] items.
func (ps *Partitions) Parts() []loop.Part {
	parts := make([]loop.Part, len(ps.list))
	for i := range ps.list {
		parts[i] = loop.Part{Items: ps.list[i].Len(), Location: ps.list[i].Location}
	}
	return parts
}

// Spans returns the items lo to hi−1, in the order of the partitions, as one span for each block
// that has some of them. It panics with ErrIndex if lo or hi is out of range.
func (ps *Partitions) Spans(lo, hi int) iter.Seq[Span] {
	if lo < 0 || lo > hi || hi > ps.Len() {
		panic(blocked.ErrIndex)
	}
	return func(yield func(Span) bool) {
		for k := sort.SearchInts(ps.starts, lo+1) - 1; lo < hi; k++ {
			start, end := ps.starts[k], min(ps.starts[k+1], hi)
			if lo < end && !yield(Span{Block: ps.blocks[k], Lo: lo - start, Hi: end - start, First: ps.firsts[k] + lo - start}) {
				return
			}
			lo = max(lo, end)
		}
	}
}

// inOrder returns a collection as one partition with all blocks in order. Its location has no
// meaning.
func inOrder(c Collection) *Partitions {
	return split(sizesOf(c), make([]int, c.Blocks()), []place{{workers: 1}}, 1)
}

// ones returns the partitions as parts of a loop whose items are the partitions.
func ones(ps *Partitions) []loop.Part {
	parts := make([]loop.Part, len(ps.list))
	for j := range parts {
		parts[j] = loop.Part{Items: 1, Location: ps.list[j].Location}
	}
	return parts
}

// bounds returns the range of the items of partition j, in the order of the partitions.
func (ps *Partitions) bounds(j int) (lo, hi int) {
	p := &ps.list[j]
	return p.starts[0], p.starts[len(p.blocks)]
}
