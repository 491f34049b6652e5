package bench

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// gemm is C = A·B, C m×n, A m×k, B k×n.
type gemm[T la.Element] struct {
	a, b, c la.General[T]
	seed    uint64
	workers int
}

func newGemm[T la.Element](f *maker[T]) (problem[T], error) {
	s := f.spec
	a, err := f.first(s.M, s.K, false)
	if err != nil {
		return nil, err
	}
	b, err := f.generate(s.Matrix, 1, s.K, s.N, false)
	if err != nil {
		return nil, err
	}
	return &gemm[T]{a: a, b: b, c: f.empty(s.M, s.N), seed: s.Seed, workers: f.workers}, nil
}

func (p *gemm[T]) order() (op la.Operation, n, longest int) {
	mean := math.Sqrt(float64(p.c.Rows) * float64(p.c.Cols))
	return la.OpGemm, int(math.Round(mean)), max(p.c.Rows, p.c.Cols, p.a.Cols)
}

func (p *gemm[T]) flops() float64 {
	return 2 * float64(p.c.Rows) * float64(p.c.Cols) * float64(p.a.Cols)
}

func (p *gemm[T]) reset() { spoil(p.c, p.workers) }

func (p *gemm[T]) once(ctx context.Context, e *la.Engine) error {
	return la.Gemm[T](ctx, e, blas.NoTrans, blas.NoTrans, 1, p.a, p.b, 0, p.c)
}

// verify makes C − A·B in C, panel by panel of A and B: sums of another order,
// with beta = 1.
func (p *gemm[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	op, n0, longest := p.order()
	nb, _ := la.TileSize[T](e, op, n0, longest)
	m, k := p.a.Dims()
	n := p.c.Cols
	wrong := sample(p.seed, nb, false, p.c, p.a, func(l, j int) T { return p.b.Data[l*p.b.Stride+j] })
	a, b, c := plain[T]{General: p.a, workers: p.workers}, plain[T]{General: p.b, workers: p.workers}, plain[T]{General: p.c, workers: p.workers}
	seen, err := probe(ctx, p.seed, m, func(y []float64) []float64 {
		return difference(c.left(y), b.left(a.left(y)))
	})
	if err != nil {
		return verdict{}, err
	}
	count := (k + panel - 1) / panel
	for i := range count {
		step(i, count)
		l, w := i*panel, min(panel, k-i*panel)
		if err := subtract(ctx, e, blas.NoTrans, window(p.a, 0, l, m, w), window(p.b, l, 0, w, n), p.c); err != nil {
			return verdict{}, err
		}
	}
	view := func(g la.General[T]) float64 { return norm1(blocked.View(g, panel), p.workers) }
	x := max(view(p.c), seen)
	return verdict{residual: productResidual[T](x, view(p.a), view(p.b), m, k), failure: wrong}, nil
}
