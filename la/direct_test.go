package la_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// problems collects what is wrong with options.
func problems[T la.Element](b *testing.B, n int) map[engine.Operation]func(e *la.Engine) error {
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(1, 1))
	x, y, z := random[T](rnd, n, n, 0), random[T](rnd, n, n, 0), random[T](rnd, n, n, 0)
	// A unit triangle of small elements keeps z in range.
	l := triangle[T](rnd, blas.Lower, blas.NonUnit, n, 0)
	for i := range n {
		l.SetTri(i, i, 1)
	}
	spd := symmetric[T](b, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Upper, 0)
	factors := map[*la.Engine]*la.Cholesky[T]{}
	return map[engine.Operation]func(e *la.Engine) error{
		engine.OpGemm: func(e *la.Engine) error {
			return la.Gemm(ctx, e, blas.NoTrans, blas.NoTrans, 1, x, y, 0, z)
		},
		engine.OpSyrk: func(e *la.Engine) error {
			return la.Syrk(ctx, e, blas.NoTrans, 1, x, 0, la.Symmetric[T]{Uplo: blas.Lower, N: n, Stride: n, Data: z.Data})
		},
		engine.OpTrsm: func(e *la.Engine) error {
			copy(z.Data, x.Data)
			return la.Trsm(ctx, e, blas.Left, blas.NoTrans, 1, l, z)
		},
		engine.OpCholesky: func(e *la.Engine) error {
			if factors[e] == nil {
				factors[e] = la.NewCholesky[T](e)
			}
			return factors[e].Factorize(spd)
		},
	}
}

func benchDirect[T la.Element](b *testing.B, typ string) {
	one := start(b, la.Options{Direct: 1 << 14})
	for _, n := range []int{32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 448, 512, 640, 768, 1024, 1536, 2048} {
		calls := problems[T](b, n)
		for _, op := range []engine.Operation{engine.OpGemm, engine.OpSyrk, engine.OpTrsm, engine.OpCholesky} {
			b.Run(fmt.Sprintf("%v/%s/%d", op, typ, n), func(b *testing.B) {
				ways := []struct {
					name string
					es   []*la.Engine
				}{{"direct", []*la.Engine{one}}, {"nil", []*la.Engine{nil}}, {"auto", nil}, {"tiles", nil}, {"one-worker", nil}}
				for _, parts := range []int{2, 3, 4} {
					nb := ((n+parts-1)/parts + 7) / 8 * 8
					ways[3].es = append(ways[3].es, start(b, la.Options{Direct: -1, NB: nb}))
					ways[4].es = append(ways[4].es, start(b, la.Options{Direct: -1, NB: nb, Workers: 1}))
				}
				ways[2].es = []*la.Engine{start(b, la.Options{Direct: -1})}
				best := make([]time.Duration, len(ways))
				for b.Loop() {
					for i, w := range ways {
						for _, e := range w.es {
							begin := time.Now()
							if err := calls[op](e); err != nil {
								b.Fatal(err)
							}
							if took := time.Since(begin); best[i] == 0 || took < best[i] {
								best[i] = took
							}
						}
					}
				}
				for i, w := range ways {
					b.ReportMetric(float64(best[i])/1e3, w.name+"-µs")
				}
				b.ReportMetric(0, "ns/op") // not reported: it would be that of all ways together
			})
		}
	}
}

// BenchmarkDirect compares one kernel for all of a problem with tiles, of the
// better of some sizes, in turns: on a standing engine, one that the call makes
// (nil), and one worker. It reports the fastest of each; up to which order one
// kernel is faster is what Options.Direct is by default.
func BenchmarkDirect(b *testing.B) {
	benchDirect[float64](b, "f64")
	benchDirect[float32](b, "f32")
}

// TestDirectSolve checks that a solution for few right-hand sides is no tasks
// where the factorization was one kernel, and bit for bit what it is by tasks.
func TestDirectSolve(t *testing.T) {
	const n = 400 // a Cholesky factorization is one kernel, a square trsm is not
	recorder := new(trace.Recorder)
	e := start(t, la.Options{Workers: 2, Static: true, Trace: recorder})
	tasks := start(t, la.Options{Workers: 2, Static: true, Direct: -1, NB: n})
	rnd := rand.New(rand.NewPCG(1, 2))
	a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: n}, blas.Upper, 0)
	for _, c := range []struct {
		nrhs   int
		direct bool
	}{{1, true}, {3, true}, {n, false}} {
		b, x, want := random[float64](rnd, n, c.nrhs, 0), random[float64](rnd, n, c.nrhs, 0), random[float64](rnd, n, c.nrhs, 0)
		solve := func(e *la.Engine, x blocked.General[float64]) {
			f := la.NewCholesky[float64](e)
			if err := f.Factorize(a); err != nil {
				t.Fatal(err)
			}
			if err := f.SolveTo(x, b); err != nil {
				t.Fatal(err)
			}
		}
		recorder.Reset()
		before := recorder.Counts().Work
		solve(e, x)
		if work := recorder.Counts().Work - before; work < n*n*n/3 || work > 2*n*n*n/3+4*n*n*float64(c.nrhs) {
			t.Errorf("%d right-hand sides: work of %v", c.nrhs, work)
		}
		solve(tasks, want)
		direct := true
		for _, event := range recorder.Events() {
			direct = direct && event.Worker == 2 // none of them
		}
		if direct != c.direct {
			t.Errorf("%d right-hand sides: direct %v, want %v", c.nrhs, direct, c.direct)
		}
		for i := range n {
			for j := range c.nrhs {
				if x.At(i, j) != want.At(i, j) {
					t.Fatalf("%d right-hand sides: (%d, %d) is %g, and by tasks %g", c.nrhs, i, j, x.At(i, j), want.At(i, j))
				}
			}
		}
	}
}
