package bench

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// trsm is X = L⁻¹·B, B m×n, L m×m lower triangular.
type trsm[T la.Element] struct {
	l, b    la.General[T] // l with zeros above the diagonal
	x       la.General[T]
	seed    uint64
	workers int
}

func newTrsm[T la.Element](f *maker[T]) (problem[T], error) {
	s := f.spec
	l, err := f.first(s.M, s.M, true)
	if err != nil {
		return nil, err
	}
	b, err := f.generate(matgen.Random, 1, s.M, s.N, false)
	if err != nil {
		return nil, err
	}
	x := b
	if s.again() {
		x = f.empty(s.M, s.N)
	}
	return &trsm[T]{l: l, b: b, x: x, seed: s.Seed, workers: f.workers}, nil
}

func (p *trsm[T]) order() (op la.Operation, n, longest int) {
	return la.OpTrsm, p.x.Rows, max(p.x.Rows, p.x.Cols)
}

func (p *trsm[T]) flops() float64 {
	m, n := float64(p.x.Rows), float64(p.x.Cols)
	return n * m * m
}

func (p *trsm[T]) reset() {
	parallel(p.workers, len(p.b.Data), stripes, func(_, lo, hi int) { copy(p.x.Data[lo:hi], p.b.Data[lo:hi]) })
}

// factor returns L.
func (p *trsm[T]) factor() la.Triangular[T] {
	return la.Triangular[T]{Uplo: blas.Lower, Diag: blas.NonUnit, N: p.l.Rows, Data: p.l.Data, Stride: p.l.Stride}
}

func (p *trsm[T]) once(ctx context.Context, e *la.Engine) error {
	return la.Trsm[T](ctx, e, blas.Left, blas.NoTrans, 1, p.factor(), p.x)
}

// verify makes B − L·X in B with gemm, panel by panel of L.
func (p *trsm[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	m, n := p.x.Dims()
	l := plain[T]{General: p.l, half: true, workers: p.workers}
	b, x := plain[T]{General: p.b, workers: p.workers}, plain[T]{General: p.x, workers: p.workers}
	seen, err := probe(ctx, p.seed, m, func(y []float64) []float64 {
		return difference(b.left(y), x.left(l.left(y)))
	})
	if err != nil {
		return verdict{}, err
	}
	count := (m + panel - 1) / panel
	for i := range count {
		step(i, count)
		k, w := i*panel, min(panel, m-i*panel)
		if err := subtract(ctx, e, blas.NoTrans, window(p.l, k, k, m-k, w), window(p.x, k, 0, w, n), window(p.b, k, 0, m-k, n)); err != nil {
			return verdict{}, err
		}
	}
	r := max(norm1(blocked.View(p.b, panel), p.workers), seen)
	nl := norm1(blocked.ViewTriangular(p.factor(), panel), p.workers)
	nx := norm1(blocked.View(p.x, panel), p.workers)
	return verdict{residual: over(r, nl, nx, epsilon[T](), float64(m))}, nil
}
