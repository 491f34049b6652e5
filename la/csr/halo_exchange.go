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
