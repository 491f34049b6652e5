package figures

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/cmd/labench/internal/plotting"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
)

// decomposed has an n×n matrix of blocks decomposed, with what LU is to have.
func decomposed(blocks int) func(p *program) ([]grid, func()) {
	return func(p *program) ([]grid, func()) {
		a, l, u, perm := p.matrix("A", blocks), p.matrix("L", blocks), p.matrix("U", blocks), p.matrix("P", blocks)
		return []grid{a}, func() { p.lu(a, l, u, perm) }
	}
}

// xeons returns so many of COBI's Xeon nodes, with so many tasks for each socket.
func xeons(nodes, perSocket int) (*sim.Machine, error) {
	m, err := machine("cobi")
	if err != nil {
		return nil, err
	}
	m.Nodes = m.Nodes[:1]
	m.Nodes[0].Count = nodes
	slots(&m.Kinds[0], perSocket, 1, rates{"getrf": 41e9})
	return m, nil
}

// lu is figure 26.
func lu(ctx context.Context, r *Result) error {
	r.Chart.XLabel, r.Chart.YLabel = "Xeon nodes of 28 cores", "GFLOP/s, of 8/3·n³ flops"
	n := 80. * k
	for nodes := 1; nodes <= 8; nodes *= 2 {
		m, err := xeons(nodes, 4)
		if err != nil {
			return err
		}
		for _, s := range []string{nodeToNode, fromLustre} {
			if m.Costs.Files = 0; s == fromLustre {
				m.Costs.Files = lustre
			}
			x, err := run(ctx, options(m, dispatch.Locality, scoring), 4*k, decomposed(20))
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
	for _, c := range []struct{ score, files float64 }{{0, 0}, {scoring, 0}, {10 * scoring, 0}, {scoring, lustre}} {
		name := fmt.Sprintf("%.0f µs to look at a task", c.score*1e6)
		if c.files > 0 {
			name += ", " + fromLustre
		}
		for at, policy := range []dispatch.Kind{dispatch.Locality, dispatch.FIFOData} {
			m, err := xeons(7, 14)
			if err != nil {
				return err
			}
			m.Costs.Files = c.files
			x, err := run(ctx, options(m, policy, c.score), 2*k, decomposed(32))
			if err != nil {
				return err
			}
			r.add(name, float64(at), x.Seconds)
			tasks = x.tasks + 32*32
		}
	}
	r.line("published, FIFOData", plotting.Point{X: 1, Y: 380})
	r.published("tasks, with those that make the blocks", "tasks", 34288, float64(tasks))
	for _, s := range r.Chart.Series {
		locality, fifodata := s.Points[0].Y, s.Points[1].Y
		r.published("FIFOData, with "+s.Name, "s", 380, fifodata)
		r.claim("FIFOData is much faster, with "+s.Name, fifodata < 0.9*locality, "%.0f s, and %.0f s with locality", fifodata, locality)
	}
	r.note("As in pycompss-18, what it takes to look at a task decides.")
	r.note("196 cores, one for each task. The paper's nodes exchange blocks through a shared file system. From node to node but in the last case: with 11 GB/s FIFOData takes what is published, which is how these were found.")
	return nil
}
