package csr

import (
	"context"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
)

// halo is what blocks need of the parts of x. Blocks on one node share what comes there:
//
//	node 1   block 0 ─┬─ slice of part 2
//	         block 1 ─┘
//	node 2   block 2 ─── slice of part 1
//	         block 3 ─── part 2, which is there
type halo struct {
	spans  []*tile // of each block with rows: see spanFirst
	slices []slice
	needs  [][]int // of each block with rows: its slices
}

// slice is elements lo to hi−1 of a part of x, which blocks on a node need.
type slice struct {
	part, lo, hi int
	node         int32
	whole        bool // the part itself goes there, or is there
}

// span learns, once, what blocks with rows need of the parts of x.
func (a *Distributed) span(ctx context.Context, parts []part) error {
	if a.halo != nil || len(parts) < 2 {
		return nil
	}
	starts := []float64{0}
	for _, p := range parts {
		starts = append(starts, float64(p.hi))
	}
	h, owners := &halo{}, make([]int32, len(parts))
	err := a.run(ctx, func(job exec.Job, blocks []graph.Datum) error {
		t, cuts := tasks{job: job}, datum("cuts", 2, 0, 0, column(starts))
		for k, p := range parts {
			owners[k] = blocks[p.block].Owner
			h.spans = append(h.spans, &tile{Rows: len(parts), Cols: spanned, Stride: spanned, Data: make([]float64, spanned*len(parts))})
			t.submit(ops().span, nil, in(&blocks[p.block]), in(cuts), out(datum("columns", 3, k, owners[k], h.spans[k])))
		}
		return t.err
	})
	if err == nil {
		h.share(parts, owners, a.kept == nil)
		a.halo = h
	}
	return err
}

// share decides what goes to which node: of each part a slice, which has what all blocks there need,
// or the part if that is most of it. Spans are told with which element it begins.
func (h *halo) share(parts []part, owners []int32, here bool) {
	at := map[[2]int]int{} // of a node and a part: their slice
	h.needs = make([][]int, len(parts))
	for k, span := range h.spans {
		for i := range parts {
			lo, hi := int(span.At(i, spanLo)), int(span.At(i, spanHi))
			if lo == hi {
				continue
			}
			key := [2]int{int(owners[k]), i}
			n, ok := at[key]
			if !ok {
				n = len(h.slices)
				at[key], h.slices = n, append(h.slices, slice{part: i, lo: lo, hi: hi, node: owners[k]})
			}
			s := &h.slices[n]
			s.lo, s.hi = min(s.lo, lo), max(s.hi, hi)
			h.needs[k] = append(h.needs[k], n)
		}
	}
	for n := range h.slices {
		s := &h.slices[n]
		rows := parts[s.part].hi - parts[s.part].lo
		if s.whole = here || s.node == owners[s.part] || 2*(s.hi-s.lo) > rows; s.whole {
			s.lo, s.hi = 0, rows
		}
	}
	for k, all := range h.needs {
		for _, n := range all {
			h.spans[k].Row(h.slices[n].part)[spanFrom] = float64(h.slices[n].lo)
		}
	}
}

// receive makes the data in which slices of x come, and those that say what blocks need.
func (v *residents) receive() {
	matrix := v.matrix()
	for k, s := range v.a.halo.spans {
		v.spans = append(v.spans, datum("columns", matrix, k, v.owner(v.rows.parts[k]), s))
	}
	all := v.a.halo.slices
	v.slices = make([]*graph.Datum, len(all))
	var rows, at []int
	for n := range all {
		if s := &all[n]; !s.whole {
			rows, at = append(rows, s.hi-s.lo), append(at, n)
		}
	}
	// A slice is made where the part is, and is all that goes to another node.
	made := v.make(rows, func(k int) int32 { return v.owner(v.rows.parts[all[at[k]].part]) })
	for k, n := range at {
		v.slices[n] = made[k]
	}
}

// send submits tasks that make the slices of a vector, and returns what blocks read instead of its
// parts.
func (v *residents) send(x *resident) []*graph.Datum {
	read := make([]*graph.Datum, len(v.slices))
	for n, d := range v.slices {
		s := &v.a.halo.slices[n]
		if read[n] = d; d == nil {
			read[n] = x.data[s.part]
			continue
		}
		v.tasks.submit(ops().slice, &sliceParams{Row: s.lo}, in(x.data[s.part]), out(d))
	}
	return read
}
