package figures

import (
	"context"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
)

// histogram is figure 11 of SplIter: 8 nodes, 880 million points in five dimensions on each, in
// blocks; a task for each block, or one for each partition, which is the blocks of a core.
func histogram(ctx context.Context, r *Result) error {
	r.Chart.XLabel, r.Chart.YLabel = "blocks for each core", "seconds"
	const (
		nodes = 8
		cores = 48
		// A core goes through its part of the points in about as long as the whole takes if there is
		// one block for each, which the paper gives: 5 s.
		part = 5.0
		bins = 4 * 4 * 4 * 4 * 4 * 8 // bytes of a histogram
	)
	for _, per := range []int{1, 4, 16, 48} {
		for _, split := range []bool{false, true} {
			m, err := machine("marenostrum4")
			if err != nil {
				return err
			}
			m.Take(nodes)
			k := &m.Kinds[0]
			k.Rate, k.Cache, k.Memory = 1e9, 0, 0
			m.Costs.Serial = 0 // blocks are objects in dataClay
			opt := options(m, dispatch.Locality, 0)
			x, err := run(ctx, opt, 1, func(p *program) ([]grid, func()) {
				all := nodes * cores * per
				data := make(grid, 1)
				parts := make(grid, 1)
				for i := range all {
					d := p.block("points", i, 0)
					d.Bytes = 880e6 * 5 * 8 * nodes / int64(all)
					data[0] = append(data[0], d)
				}
				tasks, blocks := all, 1
				if split {
					tasks, blocks = nodes*cores, per
				}
				for i := range tasks {
					d := p.block("histogram", i, 0)
					d.Bytes = bins
					parts[0] = append(parts[0], d)
				}
				return []grid{data}, func() {
					for i := range tasks {
						// Blocks were made in turn on nodes: those of a partition are of one.
						ops := []graph.Operand{out(parts[0][i])}
						for b := range blocks {
							ops = append(ops, in(data[0][(i+b*nodes*cores)%all]))
						}
						p.task("partial", 1e9*part/float64(per)*float64(blocks), ops...) // blocks of 1³
					}
					p.reduce(parts[0])
				}
			})
			if err != nil {
				return err
			}
			name := "a task for each block"
			if split {
				name = "a task for each partition"
			}
			r.add(name, float64(per), x.Seconds)
		}
	}
	b, s := "a task for each block", "a task for each partition"
	r.published("a task for each block, 1 block for each core", "s", 5, r.at(b, 1))
	r.published("a task for each block, 48 blocks for each core", "s", 10, r.at(b, 48))
	r.claim("the baseline grows", r.at(b, 48) > 1.5*r.at(b, 1), "%.2f times as long with 48 blocks for each core", r.at(b, 48)/r.at(b, 1))
	r.claim("partitions stay flat", r.at(s, 48) < 1.1*r.at(s, 1), "%.2f times", r.at(s, 48)/r.at(s, 1))
	r.note("The 5 s, and what a task costs the master, are taken from the figure; that partitions stay flat is not. Dask and its rechunk are not modelled; nor is what the library gains from smaller blocks.")
	return nil
}

// reduce adds up histograms, so many at a time.
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
