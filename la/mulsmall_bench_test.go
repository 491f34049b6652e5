package la_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// BenchmarkMulSmall compares Mul with gonum's own, by turns: gonum/la is how many
// times as fast la is, from the best turn of each.
func BenchmarkMulSmall(b *testing.B) {
	for _, n := range []int{8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 100, 128} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			x, y := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
			for i := range n {
				for j := range n {
					x.Set(i, j, float64(i-2*j))
					y.Set(i, j, float64(3*i+j)/7)
				}
			}
			var dst mat.Dense
			best := [2]float64{math.Inf(1), math.Inf(1)}
			for b.Loop() {
				for side, mul := range []func(){func() { la.Mul(&dst, x, y) }, func() { dst.Mul(x, y) }} {
					const calls = 20
					start := time.Now()
					for range calls {
						mul()
					}
					best[side] = min(best[side], time.Since(start).Seconds()/calls)
				}
			}
			b.ReportMetric(best[0]*1e9, "ns/Mul")
			b.ReportMetric(best[1]/best[0], "gonum/la")
		})
	}
}
