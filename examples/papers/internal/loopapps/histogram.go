package loopapps

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// Histogram counts points of d coordinates, uniform in [0, 1), in cells. Each coordinate is divided into the
// same number of bins of equal width.
type Histogram struct {
	*points
	bins       int
	have, want []int
}

// newHistogram makes n points in the given number of blocks. There are at most 2²⁴ cells.
func newHistogram(ctx context.Context, rt exec.Runtime, n, d, bins, blocks int, seed uint64) (*Histogram, error) {
	if math.Pow(float64(bins), float64(d)) > 1<<24 {
		return nil, fmt.Errorf("%d bins for each of %d coordinates are more than 2^24 cells", bins, d)
	}
	p, err := newPoints(ctx, rt, n, d, blocks, func(i int, x []float64) {
		for j := range x {
			x[j] = uniform(seed, i*d+j)
		}
	})
	return &Histogram{points: p, bins: bins}, err
}

// Describe implements [Problem].
func (h *Histogram) Describe() string {
	return fmt.Sprintf("%d points of %d coordinates in %d blocks, %d bins for each coordinate", h.n, h.d, h.data.Blocks(), h.bins)
}

// cells returns the number of cells.
func (h *Histogram) cells() int {
	n := 1
	for range h.d {
		n *= h.bins
	}
	return n
}

// Run implements [Problem], with one loop or one task per block.
func (h *Histogram) Run(ctx context.Context, rt exec.Runtime, opt loop.Options, sites *Sites) ([]loop.Stats, error) {
	f, err := h.prepare(ctx, rt, 0)
	if err != nil {
		return nil, err
	}
	var s loop.Stats
	opt.Stats, opt.Site = &s, &sites[0]
	h.have, err = reduce(ctx, rt, f, opt, loop.Reduction[[]int]{
		New: func() []int { return make([]int, h.cells()) },
		Add: func(sum, part *[]int) {
			for i, v := range *part {
				(*sum)[i] += v
			}
		},
	}, func(b *blocked.Tile[float64], lo, hi int, sum *[]int) {
		bins, cells := float64(h.bins), *sum
		for i := lo; i < hi; i++ {
			cell := 0
			for _, v := range b.Row(i) {
				cell = cell*h.bins + int(v*bins)
			}
			cells[cell]++
		}
	})
	return []loop.Stats{s}, err
}

// Verify implements [Problem]. The first time it compares each point with the edges of the bins.
func (h *Histogram) Verify(first bool) error {
	if first {
		h.want = make([]int, h.cells())
		for b := range h.data.Blocks() {
			for r := range h.data.Items(b) {
				cell := 0
				for _, v := range h.data.Block(b).Row(r) {
					bin := 0
					for bin+1 < h.bins && v*float64(h.bins) >= float64(bin+1) {
						bin++
					}
					cell = cell*h.bins + bin
				}
				h.want[cell]++
			}
		}
	}
	if !slices.Equal(h.have, h.want) {
		return errors.New("the counts differ")
	}
	return nil
}
