package la_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// BenchmarkFirstCalls factors a matrix five times with an engine that is new each
// time, and reports the least time of each of the five calls. The difference to
// an engine that explores nothing is what exploring the versions costs.
func BenchmarkFirstCalls(b *testing.B) {
	for _, n := range []int{512, 1024, 2048} {
		a := symmetric[float64](b, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Upper, 0)
		for _, static := range []bool{true, false} {
			b.Run(fmt.Sprintf("n=%d/static=%v", n, static), func(b *testing.B) {
				var least [5]time.Duration
				for b.Loop() {
					e, err := la.NewEngine(la.Options{Static: static})
					if err != nil {
						b.Fatal(err)
					}
					c := la.NewCholesky[float64](e)
					for i := range least {
						begin := time.Now()
						if err := c.Factorize(a); err != nil {
							b.Fatal(err)
						}
						if took := time.Since(begin); least[i] == 0 || took < least[i] {
							least[i] = took
						}
					}
					e.Close()
				}
				for i, took := range least {
					b.ReportMetric(took.Seconds()*1e3, fmt.Sprintf("ms-of-call-%d", i+1))
				}
			})
		}
	}
}
