package figures

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/exec/dispatch"
)

// element is the seconds that Python takes per element to copy a matrix into lists element by element. It was
// measured (testdata/measured.py) with Python 3.11 and NumPy 1.24 on a core of an EPYC (Turin). MareNostrum III
// had Python 2.7 on Sandy Bridge, so the figure also shows twice that time.
const element = 230e-9

// littleQR returns the rate of the factorization of two blocks. In the published program (splitMatrix, qr.py)
// its task splits Q, which has twice as many rows and columns, in that way.
func littleQR(side, rate, element float64) float64 {
	flops := 38. / 3 * side * side * side
	return flops / (flops/rate + 4*side*side*element)
}

// qr is figure 24. The operations of block factorizations are those of LAPACK's geqrf and orgqr, with all
// columns of Q.
func qr(ctx context.Context, r *Result) error {
	r.Chart.XLabel, r.Chart.YLabel = "nodes of 16 cores", "GFLOP/s, of 20/3·n³ flops"
	const blocks = 8
	n := 32. * k
	names := func(save bool, slow float64) string {
		name := map[bool]string{false: "dense", true: "memory-save"}[save]
		if slow > 1 {
			name += fmt.Sprintf(", %.0f ns an element", slow*element*1e9)
		}
		return name
	}
	for _, slow := range []float64{1, 2} {
		for _, save := range []bool{false, true} {
			for nodes := 1; nodes <= 16; nodes *= 2 {
				m := nodesOf(nodes, 4, rates{"qr": 251e9 / 2, "littleqr": littleQR(4*k, 251e9/2, slow*element)})
				seconds, err := often(func(seed uint64) (outcome, error) {
					m.Noise.Seed = seed
					return run(ctx, options(m, dispatch.Locality, looking(m)), 4*k, func(p *program) ([]grid, func()) {
						a, q := p.matrix("R", blocks), p.matrix("Q", blocks)
						return []grid{a, q}, func() { p.qr(a, q, save) }
					})
				})
				if err != nil {
					return err
				}
				r.add(names(save, slow), float64(nodes), 20./3*n*n*n/seconds/1e9)
			}
		}
	}
	for _, slow := range []float64{1, 2} {
		for _, save := range []bool{true, false} {
			s := names(save, slow)
			r.claim("it does not scale well beyond 4 nodes, "+s, r.at(s, 16) < 2*r.at(s, 4), "with 4 times as many, %.0f %% of ideal from there", 25*r.at(s, 16)/r.at(s, 4))
			r.claim("flat beyond 4 nodes, "+s, r.at(s, 16) < 1.25*r.at(s, 4), "8 nodes are %.2f times as fast as 4, and 16 %.2f", r.at(s, 8)/r.at(s, 4), r.at(s, 16)/r.at(s, 4))
		}
		s, d := names(true, slow), names(false, slow)
		r.claim("memory-save is faster than "+d, r.at(s, 4) > r.at(d, 4), "%.2f times on 4 nodes", r.at(s, 4)/r.at(d, 4))
	}
	r.note("What 8 nodes gain here is the last that there is: 16 are hardly faster. Then the longest path is all that counts, of factorizations of two blocks and of rotations that follow one another. The paper says that QR does not scale well beyond 4 nodes, not that it is flat.")
	r.note("Means of seven runs, with other times of tasks. Tasks are those of the published program: a rotation is four products, and two blocks of zeros to add them to. Q of two blocks is taken apart element by element, in Python: 230 ns for each, as measured here, or twice that, as MareNostrum III had older cores and an older Python. Assumed: the two factorizations of blocks have half of the product's rate on all cores. Their work is what they have to do, 8/3 and 38/3 of the cube of the block; the paper's table 2 has 2 and 4.")
	return nil
}
