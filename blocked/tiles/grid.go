package tiles

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas"
)

// Grid is a two-dimensional layout over a P×Q grid of processes, as [BlockCyclic]. But it
// does not assign rows and columns of tiles in turns: each process gets work in proportion
// to its speed. See [NewGrid].
type Grid struct {
	rows, cols []int // the grid row of each row of tiles, the grid column of each column
	owners     []int // the process at each place of the grid, by rows
	q          int   // columns of the grid
}

// NewGrid returns a grid of p rows for a Matrix of mt×nt tiles, over processes of the given
// speeds. Only the ratios of speeds matter. The number of processes is a multiple of p.
//
// work returns the work of a stored tile, for example [Updates]; nil means that all tiles have
// the same work. NewGrid assigns rows and columns of tiles from the last one on, each to the
// row or column of the grid that would finish it first. In a block-cyclic layout, the process
// with the last column gets more of a factorization than others in every turn: with two
// processes and 16×16 tiles of a symmetric Matrix, 10 % more than the mean. The speed of a
// column of the grid is the sum of its processes' speeds. The fastest processes make the first
// column.
//
// It panics with a *LayoutError if a speed is not above 0, or the number of processes is
// no multiple of p.
func NewGrid(kind Kind, mt, nt, p int, speeds []float64, work func(i, j int) float64) *Grid {
	n := len(speeds)
	if p < 1 || n < 1 || n%p != 0 {
		panic(&LayoutError{Row: -1, Col: -1, Owner: -1, Reason: fmt.Sprintf("grid: %d rows of %d processes", p, n)})
	}
	g := &Grid{q: n / p, owners: make([]int, n)}
	fastest := make([]int, n)
	for k, s := range speeds {
		if !(s > 0) {
			panic(&LayoutError{Row: -1, Col: -1, Owner: k, Reason: fmt.Sprintf("grid: a speed of %v", s)})
		}
		fastest[k] = k
	}
	slices.SortStableFunc(fastest, func(a, b int) int { return cmp.Compare(speeds[b], speeds[a]) })
	rows, cols := make([]float64, p), make([]float64, g.q)
	for k, process := range fastest {
		i, j := k%p, k/p
		g.owners[i*g.q+j] = process
		rows[i] += speeds[process]
		cols[j] += speeds[process]
	}
	byRow, byCol := make([]float64, mt), make([]float64, nt)
	for i := range mt {
		for j := range nt {
			if u := kind.Uplo(); u == blas.Upper && i > j || u == blas.Lower && i < j {
				continue
			}
			w := 1.0
			if work != nil {
				w = work(i, j)
			}
			byRow[i] += w
			byCol[j] += w
		}
	}
	g.rows, g.cols = share(byRow, rows), share(byCol, cols)
	return g
}

// Updates returns the work of tile (i, j) in a right-looking factorization: one more than
// the number of its updates, min(i, j).
func Updates(i, j int) float64 { return float64(min(i, j) + 1) }

// share assigns items with the given work, the last item first, to workers with the given
// speeds. Each item goes to the worker that would then finish all its items first.
func share(work, speeds []float64) []int {
	to, has := make([]int, len(work)), make([]float64, len(speeds))
	for k := len(work) - 1; k >= 0; k-- {
		best := 0
		for x := range speeds {
			if (has[x]+work[k])/speeds[x] < (has[best]+work[k])/speeds[best] {
				best = x
			}
		}
		has[best] += work[k]
		to[k] = best
	}
	return to
}

// Owner implements [Layout].
func (g *Grid) Owner(i, j int) int { return g.owners[g.rows[i]*g.q+g.cols[j]] }
