package figures

import (
	"context"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
)

// The two programs of SplIter's figures, and the names of their series.
const (
	byBlock     = "a task for each block"
	byPartition = "a task for each partition"
)

// splitCores is the number of cores of a node.
const splitCores = 48

// histogram returns the duration of a histogram of 880 million points in five dimensions per node, with per
// blocks for each core. It has a task for each block or, with split, one for each partition, which is the
// blocks of a core.
func histogram(ctx context.Context, nodes, per int, split bool) (float64, error) {
	const (
		// A core goes through its part of the points in about as long as the whole takes if there is
		// one block for each, which the paper gives: 5 s.
		part = 5.0
		bins = 4 * 4 * 4 * 4 * 4 * 8 // bytes of a histogram
	)
	m := machine("marenostrum4")
	m.Take(nodes)
	k := &m.Kinds[0]
	k.Rate, k.Cache, k.Memory = 1e9, 0, 0
	m.Costs.Serial = 0 // blocks are objects in dataClay
	opt := options(m, dispatch.Locality, 0)
	x, err := run(ctx, opt, 1, func(p *program) ([]grid, func()) {
		cores := nodes * splitCores
		all := cores * per
		data := make(grid, 1)
		parts := make(grid, 1)
		for i := range all {
			d := p.block("points", i, 0)
			d.Bytes = 880e6 * 5 * 8 * int64(nodes) / int64(all)
			data[0] = append(data[0], d)
		}
		tasks, blocks := all, 1
		if split {
			tasks, blocks = cores, per
		}
		for i := range tasks {
			d := p.block("histogram", i, 0)
			d.Bytes = bins
			parts[0] = append(parts[0], d)
		}
		return []grid{data}, func() {
			for i := range tasks {
				// Blocks were placed on nodes in turn; the blocks of a partition are on one node.
				ops := []graph.Operand{out(parts[0][i])}
				for b := range blocks {
					ops = append(ops, in(data[0][(i+b*cores)%all]))
				}
				p.task("partial", 1e9*part/float64(per)*float64(blocks), ops...) // for blocks of 1³
			}
			p.reduce(parts[0])
		}
	})
	if err != nil {
		return 0, err
	}
	return x.Seconds, nil
}

// histograms adds the points of both programs at x.
func (r *Result) histograms(ctx context.Context, x float64, nodes, per int) error {
	for _, split := range []bool{false, true} {
		seconds, err := histogram(ctx, nodes, per, split)
		if err != nil {
			return err
		}
		name := byBlock
		if split {
			name = byPartition
		}
		r.add(name, x, seconds)
	}
	return nil
}

// histogramBlocks is figure 11 of SplIter: 8 nodes with an increasing number of blocks.
func histogramBlocks(ctx context.Context, r *Result) error {
	r.Chart.XLabel, r.Chart.YLabel = "blocks for each core", "seconds"
	for _, per := range []int{1, 4, 16, 48} {
		if err := r.histograms(ctx, float64(per), 8, per); err != nil {
			return err
		}
	}
	b, s := byBlock, byPartition
	r.published("a task for each block, 1 block for each core", "s", 5, r.at(b, 1))
	r.published("a task for each block, 48 blocks for each core", "s", 10, r.at(b, 48))
	r.claim("the baseline grows", r.at(b, 48) > 1.5*r.at(b, 1), "%.2f times as long with 48 blocks for each core", r.at(b, 48)/r.at(b, 1))
	r.claim("partitions stay flat", r.at(s, 48) < 1.1*r.at(s, 1), "%.2f times", r.at(s, 48)/r.at(s, 1))
	r.note("The 5 s, and what a task costs the master, are taken from the figure; that partitions stay flat is not. Dask and its rechunk are not modelled; nor is what the library gains from smaller blocks.")
	return nil
}

// histogramNodes is figures 9 and 10 of SplIter: an increasing number of nodes with the same number of points
// each.
func histogramNodes(per int) func(ctx context.Context, r *Result) error {
	return func(ctx context.Context, r *Result) error {
		r.Chart.XLabel, r.Chart.YLabel = "nodes", "seconds"
		all := []int{1, 2, 4, 8, 16}
		for _, nodes := range all {
			if err := r.histograms(ctx, float64(nodes), nodes, per); err != nil {
				return err
			}
		}
		b, s := byBlock, byPartition
		gap := func(nodes int) float64 { return r.at(b, float64(nodes)) - r.at(s, float64(nodes)) }
		if per == 1 {
			worst := 0.0
			for _, nodes := range all {
				worst = max(worst, gap(nodes)/r.at(s, float64(nodes)), -gap(nodes)/r.at(b, float64(nodes)))
			}
			r.claim("with a block for each core the two are close", worst < 0.1, "%.0f %% at most", 100*worst)
			r.note("In the paper partitions on dataClay take a couple of seconds more, to ask where blocks are: that is not modelled.")
		} else {
			faster, grows := true, true
			for i, nodes := range all {
				faster = faster && gap(nodes) > 0
				grows = grows && (i == 0 || gap(nodes) > gap(all[i-1]))
			}
			r.claim("partitions are faster on any number of nodes", faster, "by %.1f s on 1 node", gap(1))
			r.claim("the difference grows with the nodes", grows, "to %.1f s on 16", gap(16))
			r.note("On few nodes the master keeps up with a task for each block, and many short tasks even out that times spread, which few long ones do not.")
		}
		r.claim("partitions scale", r.at(s, 16) < 1.1*r.at(s, 1), "16 nodes take %.2f times as long as 1", r.at(s, 16)/r.at(s, 1))
		r.note("As for figure 11, the 5 s and what a task costs the master are taken from that figure. Dask and its rechunk are not modelled.")
		return nil
	}
}

// reduce adds up histograms in groups.
func (p *program) reduce(all []*graph.Datum) {
	const arity = 48
	for len(all) > 1 {
		var sums []*graph.Datum
		for len(all) > 0 {
			n := min(arity, len(all))
			ops := []graph.Operand{inout(all[0])}
			for _, d := range all[1:n] {
				ops = append(ops, in(d))
			}
			p.task("sum", 0, ops...)
			sums, all = append(sums, all[0]), all[n:]
		}
		all = sums
	}
}
