package loop_test

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// BenchmarkEmpty is a loop of a million empty items on two workers, as
// exec/testdata/peers/openmp_loop.c has it.
func BenchmarkEmpty(b *testing.B) {
	rt, err := exec.NewLocal(exec.Options{Workers: 2})
	if err != nil {
		b.Fatal(err)
	}
	defer rt.Close()
	for _, x := range []struct {
		name string
		opt  loop.Options
	}{
		{"auto", loop.Options{Site: &loop.Site{}}},
		{"static", loop.Options{Plan: loop.Plan{Scheme: loop.Static}}},
		{"fac2", loop.Options{Plan: loop.Plan{Scheme: loop.FAC2, Grain: 1000}}},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			var took []float64
			for b.Loop() {
				began := time.Now()
				if err := loop.For(context.Background(), rt, 1e6, x.opt, func(c loop.Chunk) error {
					for i := c.Lo; i < c.Hi; i++ {
					}
					return nil
				}); err != nil {
					b.Fatal(err)
				}
				took = append(took, float64(time.Since(began).Nanoseconds())/1000)
			}
			b.ReportMetric(slices.Min(took), "best-µs")
			b.ReportMetric(quietest(took), "median-µs")
		})
	}
}

// quietest returns the smallest median of 501 runs in a row: as long as OpenMP's program tries
// one size of chunks, of which it reports the one with the smallest median.
func quietest(took []float64) float64 {
	best := math.Inf(1)
	for some := range slices.Chunk(took, 501) {
		slices.Sort(some)
		best = min(best, some[len(some)/2])
	}
	return best
}

// BenchmarkChunk is what an empty chunk costs two workers: the time from one to the next, and
// that of a worker for one of its own.
func BenchmarkChunk(b *testing.B) {
	rt, err := exec.NewLocal(exec.Options{Workers: 2})
	if err != nil {
		b.Fatal(err)
	}
	defer rt.Close()
	const n = 1 << 18
	for _, x := range []struct {
		name string
		plan loop.Plan
		rob  bool // one worker does nothing but its first chunk, which lasts until the other has done all
	}{
		{"central", loop.Plan{Scheme: loop.SS}, false},
		{"core", loop.Plan{Scheme: loop.SS, Layout: loop.PerCore, Shares: true}, false},
		{"stealing", loop.Plan{Scheme: loop.SS, Layout: loop.PerCore, Shares: true}, true},
		{"own", loop.Plan{NewPartitioner: func(loop.Shape) loop.Partitioner { return one{} }}, false},
	} {
		b.Run(x.name, func(b *testing.B) {
			var between, each []float64
			for b.Loop() {
				var s loop.Stats
				var robbed atomic.Bool
				if err := loop.For(context.Background(), rt, n, loop.Options{Plan: x.plan, Stats: &s}, func(c loop.Chunk) error {
					if x.rob {
						for c.Lo == 0 && !robbed.Load() {
						}
						if c.Hi == n/2 {
							robbed.Store(true)
						}
					}
					return nil
				}); err != nil {
					b.Fatal(err)
				}
				w := slices.MaxFunc(s.Workers, func(a, b loop.WorkerStats) int { return a.Chunks - b.Chunks })
				between = append(between, float64(s.Took.Nanoseconds())/n)
				each = append(each, float64(w.Busy.Nanoseconds())/float64(w.Chunks))
			}
			for name, x := range map[string][]float64{"between": between, "each": each} {
				slices.Sort(x)
				b.ReportMetric(x[0], "best-ns-"+name)
				b.ReportMetric(x[len(x)/2], "median-ns-"+name)
			}
		})
	}
}

// one is a scheme of chunks of one item.
type one struct{}

func (one) Next(int) int { return 1 }
