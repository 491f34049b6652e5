package loop

import (
	"sync"
	"testing"
)

// BenchmarkDispenser is what a chunk costs two workers that do nothing else, in nanoseconds of
// each of them.
func BenchmarkDispenser(b *testing.B) {
	for _, x := range []struct {
		name string
		plan Plan
	}{
		{"central", Plan{Scheme: SS}},
		{"central,table", Plan{Scheme: GSS}},
		{"core,shares", Plan{Scheme: SS, Layout: PerCore, Shares: true}},
	} {
		b.Run(x.name, func(b *testing.B) {
			const n = 1 << 20
			chunks := 0
			for b.Loop() {
				d := NewDispenser(n, []int{0, 0}, x.plan)
				var both sync.WaitGroup
				var took [2]int
				for w := range 2 {
					both.Go(func() {
						k := 0
						for _, ok := d.Next(w); ok; _, ok = d.Next(w) {
							k++
						}
						took[w] = k
					})
				}
				both.Wait()
				chunks += took[0] + took[1]
			}
			b.ReportMetric(2*float64(b.Elapsed().Nanoseconds())/float64(chunks), "ns/chunk")
		})
	}
}
