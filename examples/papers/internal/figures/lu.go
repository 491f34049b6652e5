package figures

import (
	"context"
	"slices"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/plotting"
)

// decomposed returns a function that submits the LU factorization of an n×n matrix of blocks.
func decomposed(blocks int) func(p *program) ([]grid, func()) {
	return func(p *program) ([]grid, func()) {
		a, l, u, perm := p.matrix("A", blocks), p.matrix("L", blocks), p.matrix("U", blocks), p.matrix("P", blocks)
		return []grid{a}, func() { p.lu(a, l, u, perm) }
	}
}

// xeons returns COBI's Xeon nodes with the given number of tasks per socket.
func xeons(nodes, perSocket int) *sim.Machine {
	m := machine("cobi")
	m.Nodes = m.Nodes[:1]
	m.Nodes[0].Count = nodes
	slots(&m.Kinds[0], perSocket, 1, rates{"getrf": 41e9})
	return m
}

// lu is figure 26.
func lu(ctx context.Context, r *Result) error {
	r.Chart.XLabel, r.Chart.YLabel = "Xeon nodes of 28 cores", "GFLOP/s, of 8/3·n³ flops"
	n := 80. * k
	for nodes := 1; nodes <= 8; nodes *= 2 {
		m := xeons(nodes, 4)
		for _, s := range []string{nodeToNode, fromLustre} {
			if m.Costs.Files = 0; s == fromLustre {
				m.Costs.Files = lustre
			}
			x, err := run(ctx, options(m, dispatch.Locality, looking(m)), 4*k, decomposed(20))
			if err != nil {
				return err
			}
			r.add(s, float64(nodes), 8./3*n*n*n/x.Seconds/1e9)
		}
	}
	one := r.at(nodeToNode, 1)
	r.ideal("ideal, from one node", one)
	r.line("NumPy, n = 32768, one node", plotting.Point{X: 1, Y: 218}, plotting.Point{X: 8, Y: 218})
	r.line("NumPy, n = 4096, one node", plotting.Point{X: 1, Y: 41}, plotting.Point{X: 8, Y: 41})
	for _, s := range []string{nodeToNode, fromLustre} {
		r.claim("it scales well, "+s, r.at(s, 8) > 0.6*8*r.at(s, 1), "8 nodes are %.1f times as fast as one", r.at(s, 8)/r.at(s, 1))
	}
	r.claim("several tasks at a time are faster than NumPy on one node", one > 218, "%.0f GFLOP/s", one)
	r.note("20×20 blocks of 4096, eight tasks on a node. The 8/3·n³ flops are the paper's count; its code has 4/3·n³ in products, which is what takes time here, and the inverses.")
	return nil
}

// luSchedulers is figure 29.
func luSchedulers(ctx context.Context, r *Result) error {
	r.Chart.YLabel = "seconds"
	r.Chart.Categories = []string{"locality", "fifodata"}
	var tasks int
	var short, long float64
	for _, c := range []struct {
		name        string
		files, host float64
	}{{fromLustre, lustre, 1}, {"files, 17 GB/s, 2.5 times as long to look", 17e9, 2.5}, {nodeToNode, 0, 1}} {
		for at, policy := range []dispatch.Kind{dispatch.Locality, dispatch.FIFOData} {
			m := xeons(7, 14)
			m.Costs.Files = c.files
			opt := options(m, policy, c.host*looking(m))
			opt.Record = c.files == lustre
			x, err := run(ctx, opt, 2*k, decomposed(32))
			if err != nil {
				return err
			}
			r.add(c.name, float64(at), x.Seconds)
			tasks = x.tasks + 32*32
			if opt.Record {
				short, long = most(x.record.Events)
			}
		}
	}
	r.line("published, FIFOData", plotting.Point{X: 1, Y: 380})
	r.published("tasks, with those that make the blocks", "tasks", 34288, float64(tasks))
	r.published("FIFOData, "+fromLustre, "s", 380, r.at(fromLustre, 1))
	r.published("the shortest tasks", "s", 0.7, short)
	r.published("the longest tasks", "s", 2.0, long)
	for _, s := range r.Chart.Series {
		locality, fifodata := s.Points[0].Y, s.Points[1].Y
		r.claim("FIFOData is much faster, "+s.Name, fifodata < 0.9*locality, "%.0f s, and %.0f s with locality", fifodata, locality)
	}
	r.note("196 cores, one for each task. Two numbers that are not published, the rate of the file system and what it takes to look at a ready task, are set by two that are: 380 s, and tasks of 0.7 to 2.0 s, as nine in ten are here.")
	r.note("So the claim does not follow from what is published: slots are busy for two thirds of the time, tasks wait for files, and the master has time to look. With a faster file system and longer looks the 380 s are met as well, and locality is far behind, but then tasks take 0.5 to 1.5 s.")
	return nil
}

// most returns the range of the durations of tasks, without the shortest and the longest twentieth.
func most(events []trace.Event) (short, long float64) {
	var seconds []float64
	for _, e := range events {
		seconds = append(seconds, (e.End - e.Start).Seconds())
	}
	slices.Sort(seconds)
	return seconds[len(seconds)/20], seconds[len(seconds)*19/20]
}
