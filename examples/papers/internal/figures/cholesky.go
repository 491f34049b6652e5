package figures

import (
	"context"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
)

// factored returns a function that submits the factorization of an n×n matrix of blocks.
func factored(blocks int) func(p *program) ([]grid, func()) {
	return func(p *program) ([]grid, func()) {
		a := p.matrix("A", blocks)
		return []grid{a}, func() { p.cholesky(a) }
	}
}

// cube is the number of operations of a Cholesky factorization of order n, in units of 10⁹, which GFLOP/s refer
// to.
func cube(n float64) float64 { return n * n * n / 3 / 1e9 }

// cholesky is figure 19.
func cholesky(ctx context.Context, r *Result) error {
	r.Chart.XLabel, r.Chart.YLabel = "nodes of 16 cores", "GFLOP/s"
	const name, apart = "tasks of 16 threads", "tasks of 4 threads"
	for n := 1; n <= 32; n *= 2 {
		for _, s := range []string{name, apart} {
			over := 4.
			if s == apart {
				over = 1
			}
			m := nodesOf(n, over, rates{"potrf": 72e9})
			seconds, err := often(func(seed uint64) (outcome, error) {
				m.Noise.Seed = seed
				return run(ctx, options(m, dispatch.Locality, looking(m)), 4*k, factored(16))
			})
			if err != nil {
				return err
			}
			r.add(s, float64(n), cube(64*k)/seconds)
		}
	}
	one := r.at(name, 1)
	r.ideal("ideal, from one node here", one)
	r.ideal("the paper's line: 72 a node (MKL's potrf)", 72)
	r.claim("ideal to 4 nodes, by the chart's line from MKL's potrf", r.at(name, 4) >= 4*72 && r.at(name, 16) < 16*72,
		"%.1f times that line on 4 nodes, %.1f on 8 and %.1f on 16", r.at(name, 4)/4/72, r.at(name, 8)/8/72, r.at(name, 16)/16/72)
	for _, s := range []string{name, apart} {
		part := r.at(s, 4) / r.at(s, 1) / 4
		r.claim("ideal to 4 nodes, from one node, "+s, part > 0.85, "%.0f %% of ideal on 4", 100*part)
		r.claim("full at 8, "+s, r.at(s, 16) < 1.25*r.at(s, 8) && r.at(s, 32) < 1.25*r.at(s, 16), "16 nodes are %.2f times as fast as 8, and 32 as 16 %.2f", r.at(s, 16)/r.at(s, 8), r.at(s, 32)/r.at(s, 16))
	}
	r.note("The graph has no more parallelism: 816 tasks on 46 levels, 18 on a level on average, where 4 nodes execute 16 at a time and 8 nodes 32. With the longest path first 4 nodes have 86 %%, as with any other order that was tried: no scheduler makes this graph nearer to ideal from one node of PyCOMPSs. The paper's chart has no such line, but one from MKL's potrf. Beyond 8 nodes most sockets have one task or none, and a task of 16 threads is then up to twice as fast as one of 4: that is what there is still to gain.")
	r.note("Published: 72 GFLOPS of potrf on a node. Means of seven runs, with other times of tasks.")
	return nil
}

// cobiPotrf estimates the rate of potrf on COBI's Xeons, which is not published: the ratio to the product's
// rate is that of MareNostrum III.
var cobiPotrf = rates{"potrf": 72. / 251 * 28 * 31.2e9}

// gemmOnPhis restricts COBI's Xeon Phis to the ops for which they have versions.
func gemmOnPhis(m *sim.Machine) { m.Kinds[1].Ops = []string{"gemm", "init"} }

// choleskyUnlike is figure 22.
func choleskyUnlike(ctx context.Context, r *Result) error {
	r.Chart.XLabel, r.Chart.YLabel = "nodes, half of them Xeons and half Xeon Phis", "GFLOP/s"
	const xeon = "from node to node, without the Xeon Phis"
	for n := 2; n <= 16; n *= 2 {
		m := cobi(n, cobiPotrf)
		gemmOnPhis(m)
		for _, s := range []string{nodeToNode, fromLustre, xeon} {
			if m.Costs.Files = 0; s == fromLustre {
				m.Costs.Files = lustre
			}
			if s == xeon {
				m.Nodes = m.Nodes[:1]
			}
			x, err := run(ctx, options(m, dispatch.Locality, looking(m)), 4*k, factored(32))
			if err != nil {
				return err
			}
			r.add(s, float64(n), cube(128*k)/x.Seconds)
		}
	}
	for _, s := range []string{fromLustre, nodeToNode} {
		r.claim("it scales to 8 nodes, "+s, r.at(s, 8) > 2*r.at(s, 2), "8 nodes are %.2f times as fast as 2", r.at(s, 8)/r.at(s, 2))
		r.claim("full at 8, "+s, r.at(s, 16) < 1.25*r.at(s, 8), "16 nodes are %.2f times as fast as 8", r.at(s, 16)/r.at(s, 8))
	}
	r.note("The paper says in words only of MareNostrum III that 8 nodes are full, with 16×16 blocks. These are 32×32: there are 5,984 tasks on 94 levels, 64 on a level on average, and 8 nodes execute 48 at a time, 16 nodes 96. So the graph alone does not fill 8 nodes, and the file system does: its 12 GB/s are from figure 29. From node to node is what 16 nodes would gain without it: the paper's nodes exchange blocks through the file system (section 4.2).")
	r.note("32×32 blocks of 4096. Only gemm runs on Xeon Phis. Assumed: potrf has the part of the product's rate that it has on MareNostrum III.")
	return nil
}
