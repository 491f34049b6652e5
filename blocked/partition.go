package blocked

import (
	"iter"
	"slices"
	"sort"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// Collection is items in blocks, of which each lies in one place: [RowBlocks], [Lists], a
// csr.Matrix of package la/csr, or a program's own.
type Collection interface {
	// Blocks returns how many blocks there are.
	Blocks() int
	// Items returns how many items a block has, at least 0.
	Items(block int) int
	// Bytes returns the size of a block, by which [Split] makes partitions alike.
	Bytes(block int) int64
	// Locate returns the place of each block, as exec.Worker.Location of the workers of this
	// process, or −1 where that is not known. It is one look-up for all of them, and moves
	// nothing: see [Near].
	Locate(rt exec.Runtime) []int
}

// Spread is a [Collection] whose blocks may lie on several nodes: [TileBlocks], or a
// csr.Distributed of package la/csr.
type Spread interface {
	Collection
	// OverNodes reports whether the places are nodes: Locate then returns those, as exec.Kept
	// does.
	OverNodes() bool
}

// Partition is blocks of a [Collection] that lie in one place, where one worker at a time goes
// through them.
type Partition struct {
	// Location is as exec.Worker.Location; where a [Spread] was split, the number of
	// the node, 0 for this process.
	Location int

	blocks []int // ascending
	firsts []int // the first item of each, by its number in the collection
	starts []int // where each begins among the items of all partitions, and the end
}

// Indexes returns the numbers of the partition's blocks, ascending. The slice is the
// partition's.
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

// Span is consecutive items of a block: Lo to Hi−1 of it. In the collection they have the
// numbers from First on.
type Span struct{ Block, Lo, Hi, First int }

// Partitions is a [Collection] that was split: logical groups of its blocks. Beside the
// partitions' numbers there is nothing, so it remains valid when items change, and no longer
// when blocks are added, taken away, or changed in size.
//
// Their items have an order of their own: those of the first partition first, block by block.
// By it a loop goes over all of them, so that each worker begins with what is near to it:
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
// The partitions of a [Spread] are of blocks on nodes. There the blocks of each are
// the operands of a task of an op that all nodes know: see [loop.Submit].
type Partitions struct {
	list   []Partition
	blocks []int // of all partitions, one after the other; firsts and starts are by these
	firsts []int
	starts []int
}

// Split groups the blocks of a collection into partitions. Nothing is copied or moved: it is a
// look-up of the places of all blocks at once, and some arithmetic for each.
//
// Each place that has blocks gets as many partitions as multiplicity says, or as it has
// blocks; 0 stands for the number of its workers. The partitions of a place are about equal in
// bytes, and their blocks are in order. Blocks whose place is not known, or has no workers,
// go to the place that has the least for each of its workers.
//
// It panics with ErrShape if multiplicity is negative, or the collection's numbers are.
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

func sizesOf(c Collection) []blockSize {
	sizes := make([]blockSize, c.Blocks())
	for b := range sizes {
		sizes[b] = blockSize{c.Items(b), c.Bytes(b)}
	}
	return sizes
}

// blockSize is what a partition depends on beside places.
type blockSize struct {
	items int
	bytes int64
}

// place is where workers are.
type place struct {
	location, workers int
	bytes             int64
	blocks            []int
}

// placesOf returns where the workers on cores of this process are, by their numbers.
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

// nodesOfWorkers returns the nodes that workers on cores are on: this process is 0.
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

// split is Split when all is known.
func split(sizes []blockSize, at []int, places []place, multiplicity int) *Partitions {
	if multiplicity < 0 || len(at) != len(sizes) {
		panic(ErrShape)
	}
	// First those whose place is known, for the others go where there is least.
	var strays []int
	for b, s := range sizes {
		if s.items < 0 || s.bytes < 0 {
			panic(ErrShape)
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

func (p *place) add(block int, s blockSize) {
	p.blocks = append(p.blocks, block)
	p.bytes += s.bytes
}

// cut cuts blocks into n runs, none empty, of about equal bytes and returns how many blocks
// each has.
func cut(blocks []int, sizes []blockSize, n int) (counts []int) {
	var left float64
	for _, b := range blocks {
		left += float64(sizes[b].bytes)
	}
	for ; n > 0; n-- {
		want, has, count := left/float64(n), 0.0, 0
		for count == 0 || len(blocks)-count >= n { // one for each of the others remains
			size := float64(sizes[blocks[count]].bytes)
			// A block goes where the larger part of it lies.
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

// Spans returns where the items lo to hi−1 are, in the order of the partitions: a span for each
// block that has some. It panics with ErrIndex if they are out of range.
func (ps *Partitions) Spans(lo, hi int) iter.Seq[Span] {
	if lo < 0 || lo > hi || hi > ps.Len() {
		panic(ErrIndex)
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

// inOrder returns a collection as one partition, which no place has.
func inOrder(c Collection) *Partitions {
	return split(sizesOf(c), make([]int, c.Blocks()), []place{{workers: 1}}, 1)
}

// ones returns the partitions as parts of a loop of which each is one item.
func ones(ps *Partitions) []loop.Part {
	parts := make([]loop.Part, len(ps.list))
	for j := range parts {
		parts[j] = loop.Part{Items: 1, Location: ps.list[j].Location}
	}
	return parts
}

// bounds returns the items of partition j in the order of the partitions.
func (ps *Partitions) bounds(j int) (lo, hi int) {
	p := &ps.list[j]
	return p.starts[0], p.starts[len(p.blocks)]
}
