package figures

import (
	"context"
	"slices"

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

// histogram returns the seconds of a histogram of 880 million points in five dimensions per node, with perCore
// blocks of points for each core. It has a task for each block or, if split is set, one for each partition: the
// blocks of a core.
func histogram(ctx context.Context, nodes, perCore int, split bool) (float64, error) {
	const (
		// A core takes 5 s for its points: the paper gives that for one block for each core, where a core has one task.
		coreSeconds = 5.0
		rate        = 1e9                   // flop/s: any number, since tasks are given by their seconds
		pointBytes  = 880e6 * 5 * 8         // of all points of a node
		binBytes    = 4 * 4 * 4 * 4 * 4 * 8 // of a histogram
	)
	m := machine("marenostrum4")
	m.Take(nodes)
	k := &m.Kinds[0]
	k.Rate, k.Cache, k.Memory = rate, 0, 0
	m.Costs.Serial = 0 // blocks are objects in dataClay
	x, err := run(ctx, options(m, dispatch.Locality, 0), 1, func(p *program) ([]grid, func()) {
		cores := nodes * splitCores
		points := make([]*graph.Datum, cores*perCore)
		for i := range points {
			points[i] = p.block("points", i, 0)
			points[i].Bytes = pointBytes * int64(nodes) / int64(len(points))
		}
		partials, blocks := make([]*graph.Datum, len(points)), 1 // a task's blocks
		if split {
			partials, blocks = partials[:cores], perCore
		}
		for i := range partials {
			partials[i] = p.block("histogram", i, 0)
			partials[i].Bytes = binBytes
		}
		return []grid{{points}}, func() {
			for i, partial := range partials {
				ops := []graph.Operand{out(partial)}
				for b := range blocks { // the nodes got the points in turn, so these blocks are on one node
					ops = append(ops, in(points[i+b*cores]))
				}
				p.task("partial", rate*coreSeconds/float64(perCore)*float64(blocks), ops...)
			}
			p.reduce(partials)
		}
	})
	if err != nil {
		return 0, err
	}
	return x.Seconds, nil
}

// reduce adds up histograms in groups.
func (p *program) reduce(all []*graph.Datum) {
	const arity = 48
	for len(all) > 1 {
		var sums []*graph.Datum
		for group := range slices.Chunk(all, arity) {
			ops := []graph.Operand{inout(group[0])}
			for _, d := range group[1:] {
				ops = append(ops, in(d))
			}
			p.task("sum", 0, ops...)
			sums = append(sums, group[0])
		}
		all = sums
	}
}

// histograms adds the points of both programs at x.
func (r *Result) histograms(ctx context.Context, x float64, nodes, perCore int) error {
	block, err := histogram(ctx, nodes, perCore, false)
	if err != nil {
		return err
	}
	partition, err := histogram(ctx, nodes, perCore, true)
	if err != nil {
		return err
	}
	r.add(byBlock, x, block)
	r.add(byPartition, x, partition)
	return nil
}

// histogramBlocks is figure 11 of SplIter: 8 nodes with an increasing number of blocks.
func histogramBlocks(ctx context.Context, r *Result) error {
	r.Chart.XLabel, r.Chart.YLabel = "blocks for each core", "seconds"
	for _, perCore := range []int{1, 4, 16, 48} {
		if err := r.histograms(ctx, float64(perCore), 8, perCore); err != nil {
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
// each. claims adds what the paper says of that figure only.
func histogramNodes(perCore int, claims func(r *Result, nodes []int)) func(ctx context.Context, r *Result) error {
	return func(ctx context.Context, r *Result) error {
		r.Chart.XLabel, r.Chart.YLabel = "nodes", "seconds"
		all := []int{1, 2, 4, 8, 16}
		for _, nodes := range all {
			if err := r.histograms(ctx, float64(nodes), nodes, perCore); err != nil {
				return err
			}
		}
		claims(r, all)
		s := byPartition
		r.claim("partitions scale", r.at(s, 16) < 1.1*r.at(s, 1), "16 nodes take %.2f times as long as 1", r.at(s, 16)/r.at(s, 1))
		r.note("As for figure 11, the 5 s and what a task costs the master are taken from that figure. Dask and its rechunk are not modelled.")
		return nil
	}
}

// gap returns by how many seconds partitions are faster than blocks.
func (r *Result) gap(nodes int) float64 {
	return r.at(byBlock, float64(nodes)) - r.at(byPartition, float64(nodes))
}

// partitionsClose claims that partitions are about as fast as blocks on any number of nodes.
func partitionsClose(r *Result, all []int) {
	worst := 0.0
	for _, nodes := range all {
		x := float64(nodes)
		worst = max(worst, r.gap(nodes)/r.at(byPartition, x), -r.gap(nodes)/r.at(byBlock, x))
	}
	r.claim("with a block for each core the two are close", worst < 0.1, "%.0f %% at most", 100*worst)
	r.note("In the paper partitions on dataClay take a couple of seconds more, to ask where blocks are: that is not modelled.")
}

// partitionsFaster claims that partitions are faster than blocks, the more so the more nodes there are.
func partitionsFaster(r *Result, all []int) {
	faster, grows := true, true
	for i, nodes := range all {
		faster = faster && r.gap(nodes) > 0
		grows = grows && (i == 0 || r.gap(nodes) > r.gap(all[i-1]))
	}
	r.claim("partitions are faster on any number of nodes", faster, "by %.1f s on 1 node", r.gap(1))
	r.claim("the difference grows with the nodes", grows, "to %.1f s on 16", r.gap(16))
	r.note("On few nodes the master keeps up with a task for each block, and many short tasks even out that times spread, which few long ones do not.")
}
