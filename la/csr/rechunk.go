package csr

import (
	"context"
	"fmt"
	"sort"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// Rechunk returns a copy of a in the given number of blocks of rows with about equally many entries, the
// same blocks that [Scatter] would make; 0 means one block for each worker of exec.Working. If a has few
// rows, or very long ones, there may be fewer blocks. The caller must close both matrices.
//
// The nodes cut the blocks and join the pieces. Each row goes from node to node at most once, and no row
// comes to this process, which only learns where the cuts are. If a node is lost, its blocks are made again
// from the sources of a, even after a.Close.
//
// A [Matrix] needs no Rechunk: it lies in one piece of memory, where loops and parts.Split can cut anywhere.
//
// The error is a *[StructureError] if blocks is negative, or that of the runtime or the job. Rechunk panics
// with blocked.ErrReleased after Close.
func (a *Distributed) Rechunk(ctx context.Context, blocks int) (*Distributed, error) {
	a.used()
	switch {
	case blocks < 0:
		return nil, &StructureError{-1, fmt.Sprintf("%d blocks of rows", blocks)}
	case blocks == 0:
		blocks = len(exec.Working(a.rt))
	}
	sizes, err := a.sizes(ctx, blocks)
	if err != nil {
		return nil, err
	}
	r := recut{from: a.Data(2), ends: a.ends(), of: len(sizes), owners: a.owners}
	r.keeper, _ = a.rt.(exec.Keeper)
	defer r.release()
	var at Size
	return build(ctx, a.rt, a.cols, sizes, func(job exec.Job, b int) (graph.Spec, error) {
		from := at
		at = at.plus(sizes[b])
		return r.block(job, b, from, at)
	})
}

func (s Size) plus(t Size) Size  { return Size{s.Rows + t.Rows, s.Entries + t.Entries} }
func (s Size) minus(t Size) Size { return Size{s.Rows - t.Rows, s.Entries - t.Entries} }

// ends returns the rows and entries before each block, and those of the matrix.
func (a *Distributed) ends() []Size {
	at := make([]Size, 1, len(a.blocks)+1)
	for b := range a.blocks {
		at = append(at, at[b].plus(Size{a.blocks[b].rows, a.blocks[b].entries}))
	}
	return at
}

// sizes returns the sizes of the given number of blocks, or fewer. The nodes find in their old blocks the
// rows at which the new blocks begin.
func (a *Distributed) sizes(ctx context.Context, blocks int) (sizes []Size, err error) {
	ends := a.ends()
	all := ends[len(a.blocks)]
	total, cuts := all.Rows+all.Entries, make([]*tile, len(a.blocks))
	blocks = min(blocks, total) // as Scatter
	err = a.run(ctx, func(job exec.Job, data []graph.Datum) error {
		for b, c := 0, 1; b < len(data); b++ {
			first, end := c, ends[b+1].Rows+ends[b+1].Entries
			for c < blocks && share(c, blocks, total) <= end {
				c++
			}
			if c == first {
				continue
			}
			cuts[b] = &tile{Rows: c - first, Cols: 2, Stride: 2, Data: make([]float64, 2*(c-first))}
			s := graph.Spec{Op: ops().cut, Params: &cutParams{First: first, Blocks: blocks, Total: total, Before: ends[b].Rows + ends[b].Entries},
				Operands: []graph.Operand{{Datum: &data[b], Mode: graph.In}, {Datum: datum("cuts", 2, b, data[b].Owner, cuts[b]), Mode: graph.Out}}}
			if _, err := job.Submit(&s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var latest Size // rows and entries before the latest cut
	cut := func(at Size) {
		if at.Rows > latest.Rows {
			sizes, latest = append(sizes, at.minus(latest)), at
		}
	}
	for b, t := range cuts {
		for i := 0; t != nil && i < t.Rows; i++ {
			cut(ends[b].plus(Size{int(t.At(i, 0)), int(t.At(i, 1))}))
		}
	}
	cut(all)
	return sizes, nil
}

// recut submits tasks that make new blocks from the blocks of a matrix.
type recut struct {
	from       []graph.Datum // the old blocks
	ends       []Size        // of the old blocks
	of, owners int           // number of new blocks, and of nodes, as in Data
	keeper     exec.Keeper   // nil if all blocks are in one memory
	pieces     []exec.Kept   // to be released at the end
}

// block returns a task that makes new block b, which has the rows and entries between lo and hi. The caller
// must add the last operand, the new block. If an old block has rows of several new blocks, a task on its
// node cuts off the rows of b. So each row goes only to the node that needs it.
func (r *recut) block(job exec.Job, b int, lo, hi Size) (s graph.Spec, err error) {
	p := &joinParams{}
	s = graph.Spec{Op: ops().join, Params: p}
	// There may be blocks without rows in between.
	first := sort.Search(len(r.from), func(k int) bool { return r.ends[k+1].Rows > lo.Rows })
	for k := first; k < len(r.from) && r.ends[k].Rows < hi.Rows; k++ {
		from, begin, end := &r.from[k], r.ends[k], r.ends[k+1]
		if begin.Rows < lo.Rows {
			begin = lo
		}
		if end.Rows > hi.Rows {
			end = hi
		}
		skip, part := begin.Rows-r.ends[k].Rows, end.minus(begin)
		here := begin == lo && end == hi && int(from.Owner) == b*r.owners/r.of
		if r.keeper != nil && !here && part.Rows < from.Value.(*Block).rows {
			if from, err = r.piece(job, from, skip, part); err != nil {
				return s, err
			}
			skip = 0
		}
		p.Row += skip // of the first block only
		s.Operands = append(s.Operands, graph.Operand{Datum: from, Mode: graph.In})
	}
	return s, nil
}

// piece submits a task that copies a part of a block, from the given row on, and returns the copy.
func (r *recut) piece(job exec.Job, from *graph.Datum, row int, part Size) (*graph.Datum, error) {
	b := &Block{shape: shape{part.Rows, from.Value.(*Block).cols, part.Entries}}
	kept, err := r.keeper.Keep([]versions.Shaped{b})
	if err != nil {
		return nil, err
	}
	d := &graph.Datum{Name: "piece", Key: graph.Key{Matrix: 3, I: int32(len(r.pieces))}, Owner: from.Owner, Value: b, Bytes: b.Bytes()}
	r.pieces = append(r.pieces, kept)
	_, err = job.Submit(&graph.Spec{Op: ops().join, Params: &joinParams{Row: row},
		Operands: []graph.Operand{{Datum: from, Mode: graph.In}, {Datum: d, Mode: graph.Out}}})
	return d, err
}

// release makes the nodes forget the pieces.
func (r *recut) release() {
	for _, k := range r.pieces {
		k.Release()
	}
}
