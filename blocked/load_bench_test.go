package blocked_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// covariance is the matrix exp(−|i−j|/n) + I of a Gaussian process at n places, as
// a program would give it: by a formula.
type covariance int

func (n covariance) Dims() (r, c int) { return int(n), int(n) }

func (n covariance) At(i, j int) float64 {
	if i == j {
		return 2
	}
	return math.Exp(-math.Abs(float64(i-j)) / float64(n))
}

// BenchmarkLoad compares, in turns, three ways from a source to its factors:
// CopyFrom and then the factorization; Load, with tiles handed on when the task
// ends; and Load as it is, one tile after the other. It reports the best time of
// the first, and the best of the two others as parts of it.
func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"potrf", "getrf", "geqrf"} {
		for _, source := range []string{"covariance", "at", "memory"} {
			for _, size := range [][2]int{{512, 64}, {1024, 128}, {2048, 128}, {2048, 256}, {4096, 256}} {
				n, nb := size[0], size[1]
				b.Run(fmt.Sprintf("%s/%s/n=%d/nb=%d", name, source, n, nb), func(b *testing.B) {
					g := spd(n)
					var src blocked.Source[float64] = g
					switch source {
					case "at":
						src = elements[float64]{Source: g}
					case "covariance":
						src = covariance(n)
					}
					kind, opt := blocked.SymUpper, blocked.LoadOptions{}
					if name != "potrf" {
						kind, opt.ByColumns = blocked.Full, true
					}
					a := blocked.New[float64](kind, n, n, nb)
					pivots := lu.NewPivots(n, n, nb)
					rotations := qr.NewRotations[float64](n, n, nb, qr.RotationOptions{Cores: 2})
					rt := blockedtest.StartLocal(b, exec.Options{})
					ops := kernels.For[float64](op.NewTable())
					factor := func(p *blocked.Program[float64]) error {
						switch name {
						case "potrf":
							return chol.Potrf(p, a)
						case "getrf":
							return lu.Getrf(p, a, pivots)
						}
						return qr.Geqrf(p, a, rotations)
					}
					best := [3]time.Duration{math.MaxInt64, math.MaxInt64, math.MaxInt64}
					for b.Loop() {
						for way := range best {
							start := time.Now()
							job := rt.NewJob(b.Context())
							p := blocked.NewProgram(job, ops)
							var err error
							if way == 0 {
								a.CopyFrom(src, blocked.CopyOptions{})
							} else {
								opt.Lazy = way == 1
								err = p.Load(a, src, opt)
							}
							if err := errors.Join(err, factor(p), job.Wait()); err != nil {
								b.Fatal(err)
							}
							best[way] = min(best[way], time.Since(start))
						}
					}
					b.ReportMetric(best[0].Seconds()*1000, "ms-before")
					b.ReportMetric(float64(best[1])/float64(best[0]), "lazy")
					b.ReportMetric(float64(best[2])/float64(best[0]), "eager")
				})
			}
		}
	}
}
