package csr

import (
	"context"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
)

// span makes a.halo, unless it is there: a task for each block with rows finds which elements of the parts
// of x the block needs. With one part there is no halo.
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

// receive makes the data for the slices of x, and the data of the spans.
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
	// The node of the part makes the slice, so only the slice goes to another node.
	made := v.allocate(rows, func(k int) int32 { return v.owner(v.rows.parts[all[at[k]].part]) })
	for k, n := range at {
		v.slices[n] = made[k]
	}
}

// send submits tasks that make the slices of x. It returns, for each slice of the halo, the datum that
// blocks read: the slice, or the whole part.
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
