package loopapps

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
)

// KMeans is Lloyd's algorithm with a fixed number of iterations. Each iteration assigns every
// point to the nearest of k centres and moves each centre to the mean of its points; a centre
// without points stays. The initial centres are points 0, n/k, 2n/k, … of the data, which form k
// clouds.
type KMeans struct {
	*points
	k, iterations int
	centres, want []float64 // k×d
	routines      cpu.Routines[float64]
	scratch       sync.Pool // of *distances
}

// distances is scratch for the distances of up to block points to all centres.
type distances struct{ products, work []float64 }

// newKMeans makes n points of d coordinates that form k clouds, in the given number of blocks.
func newKMeans(ctx context.Context, rt exec.Runtime, n, d, k, iterations, blocks int, seed uint64) (*KMeans, error) {
	p, err := newPoints(ctx, rt, n, d, blocks, func(i int, x []float64) {
		cloud := int(mix(seed+uint64(i)) % uint64(k))
		for j := range x {
			x[j] = 4*uniform(seed+1, cloud*d+j) + uniform(seed+2, i*d+j)
		}
	})
	return kmeansOn(p, k, iterations), err
}

// kmeansOn returns k-means on points.
func kmeansOn(p *points, k, iterations int) *KMeans {
	m := &KMeans{points: p, k: k, iterations: iterations, routines: cpu.Fastest[float64](cpu.Caches{})}
	m.scratch.New = func() any {
		return &distances{make([]float64, block*k), make([]float64, m.routines.Work(max(block, k, p.d)))}
	}
	return m
}

// Describe implements [Problem].
func (m *KMeans) Describe() string {
	return fmt.Sprintf("%d points of %d coordinates in %d blocks, %d centres, %d iterations", m.n, m.d, m.data.Blocks(), m.k, m.iterations)
}

// clusters holds the sum of the points of each centre, k×d, and their number.
type clusters struct{ sums, counts []float64 }

// Run implements [Problem]. Each iteration is one reduction: a parallel loop, or one task per
// block, as the form says.
func (m *KMeans) Run(ctx context.Context, rt exec.Runtime, opt loop.Options, sites *Sites) (loops []loop.Stats, err error) {
	f, err := m.prepare(ctx, rt, 0)
	if err != nil {
		return nil, err
	}
	m.centres = m.first()
	sums, counts := vector(m.k*m.d), vector(m.k)
	r := loop.Reduction[clusters]{
		New: func() clusters { return clusters{sums.New(), counts.New()} },
		Add: func(sum, part *clusters) {
			sums.Add(&sum.sums, &part.sums)
			counts.Add(&sum.counts, &part.counts)
		},
	}
	for range m.iterations {
		var s loop.Stats
		opt.Stats, opt.Site = &s, &sites[0]
		halves := m.halves()
		total, err := reduce(ctx, rt, f, opt, r, func(b *blocked.Tile[float64], lo, hi int, sum *clusters) {
			m.assign(b, lo, hi, halves, sum)
		})
		if err != nil {
			return loops, err
		}
		m.move(&total)
		loops = append(loops, s)
	}
	return loops, nil
}

// first returns the initial centres.
func (m *KMeans) first() (centres []float64) {
	firsts := make([]int, m.k)
	for c := range firsts {
		firsts[c] = c * m.n / m.k
	}
	at := 0
	for b := range m.data.Blocks() {
		for r := range m.data.Items(b) {
			for len(firsts) > 0 && firsts[0] == at {
				centres, firsts = append(centres, m.data.Block(b).Row(r)...), firsts[1:]
			}
			at++
		}
	}
	return centres
}

// halves returns half the square of the norm of each centre.
func (m *KMeans) halves() []float64 {
	h := make([]float64, m.k)
	for c := range h {
		for _, v := range m.centres[c*m.d : (c+1)*m.d] {
			h[c] += v * v / 2
		}
	}
	return h
}

// assign adds points lo to hi−1 of a block to the sums of their nearest centres. As
//
//	‖x − c‖² = ‖x‖² − 2x·c + ‖c‖²
//
// and ‖x‖² is the same for all c, the nearest centre has the largest x·c − ‖c‖²/2. One product of
// matrices computes x·c for up to block points.
func (m *KMeans) assign(b *blocked.Tile[float64], lo, hi int, halves []float64, sum *clusters) {
	s := m.scratch.Get().(*distances)
	defer m.scratch.Put(s)
	k, d := m.k, m.d
	for ; lo < hi; lo += block {
		n := min(block, hi-lo)
		m.routines.Gemm(blas.NoTrans, blas.Trans, n, k, d, 1, b.Data[lo*b.Stride:], b.Stride, m.centres, d, 0, s.products, k, s.work)
		for i := range n {
			best, top := 0, math.Inf(-1)
			for c, v := range s.products[i*k : i*k+k] {
				if v -= halves[c]; v > top {
					best, top = c, v
				}
			}
			sum.counts[best]++
			to := sum.sums[best*d : best*d+d]
			for j, v := range b.Row(lo + i) {
				to[j] += v
			}
		}
	}
}

// move moves each centre that has points to their mean.
func (m *KMeans) move(total *clusters) {
	for c, n := range total.counts {
		for j := range m.d {
			if n > 0 {
				m.centres[c*m.d+j] = total.sums[c*m.d+j] / n
			}
		}
	}
}

// Verify implements [Problem]. The first time it computes the centres by the definition,
// sequentially. The order of summation differs, so coordinates of a few units may differ by
// roundings.
func (m *KMeans) Verify(first bool) error {
	if first {
		m.want = m.lloyd()
	}
	for i, v := range m.centres {
		if d := math.Abs(v - m.want[i]); !(d < 1e-9) {
			return fmt.Errorf("coordinate %d of centre %d is %v, want %v", i%m.d, i/m.d, v, m.want[i])
		}
	}
	return nil
}

// lloyd returns the final centres, computed sequentially by the definition.
func (m *KMeans) lloyd() []float64 {
	o := &KMeans{points: m.points, k: m.k, centres: m.first()}
	for range m.iterations {
		total := clusters{make([]float64, m.k*m.d), make([]float64, m.k)}
		for b := range m.data.Blocks() {
			for r := range m.data.Items(b) {
				x := m.data.Block(b).Row(r)
				best, least := 0, math.Inf(1)
				for c := range m.k {
					s := 0.0
					for j, v := range o.centres[c*m.d : (c+1)*m.d] {
						s += (x[j] - v) * (x[j] - v)
					}
					if s < least {
						best, least = c, s
					}
				}
				total.counts[best]++
				for j, v := range x {
					total.sums[best*m.d+j] += v
				}
			}
		}
		o.move(&total)
	}
	return o.centres
}
