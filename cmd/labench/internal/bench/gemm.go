package bench

import (
	"context"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// gemm is C = A·B, C m×n, A m×k, B k×n.
type gemm[T la.Element] struct {
	base[T]
	a, b, c la.General[T]
}

func newGemm[T la.Element](f *maker[T]) problem {
	s := f.spec
	return &gemm[T]{f.base, f.first(s.M, s.K, fullMatrix), f.generate(s.Matrix, 1, s.K, s.N, fullMatrix), f.empty(s.M, s.N)}
}

func (p *gemm[T]) order() (op engine.Operation, n, longest int) {
	return engine.OpGemm, mean(p.c.Rows, p.c.Cols), max(p.c.Rows, p.c.Cols, p.a.Cols)
}

// dims returns m, n and k, for [engine.ProductTileSize].
func (p *gemm[T]) dims() (m, n, k int) { return p.c.Rows, p.c.Cols, p.a.Cols }

func (p *gemm[T]) flops() float64 {
	return 2 * float64(p.c.Rows) * float64(p.c.Cols) * float64(p.a.Cols)
}

func (p *gemm[T]) reset() { spoil(p.c, p.workers) }

func (p *gemm[T]) on(e *la.Engine) (func(context.Context) error, error) {
	return func(ctx context.Context) error {
		return la.Gemm[T](ctx, e, blas.NoTrans, blas.NoTrans, 1, p.a, p.b, 0, p.c)
	}, nil
}

// verify computes C − A·B in C, panel by panel of A and B, with beta = 1: the order of summation differs from
// that of the run.
func (p *gemm[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	op, n0, longest := p.order()
	nb, _ := engine.TileSize[T](e, op, n0, longest)
	m, k := p.a.Dims()
	n := p.c.Cols
	wrong := sample(p.seed, nb, false, p.c, p.a, func(l, j int) T { return p.b.Data[l*p.b.Stride+j] })
	a, b, c := p.plain(p.a), p.plain(p.b), p.plain(p.c)
	seen := p.probe(ctx, m, func(y []float64) []float64 { return difference(c.left(y), b.left(a.left(y))) })
	err := panels(k, step, func(l, w int) error {
		return subtract(ctx, e, blas.NoTrans, window(p.a, 0, l, m, w), window(p.b, l, 0, w, n), p.c)
	})
	x := max(p.norm(p.c), seen)
	return verdict{residual: productResidual[T](x, p.norm(p.a), p.norm(p.b), m, k), failure: wrong}, err
}
