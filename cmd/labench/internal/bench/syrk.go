package bench

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// syrk is C = A·Aᵀ, C n×n in its lower triangle, A n×k.
type syrk[T la.Element] struct {
	base[T]
	a, c la.General[T]
}

func newSyrk[T la.Element](f *maker[T]) problem {
	return &syrk[T]{f.base, f.first(f.spec.N, f.spec.K, fullMatrix), f.empty(f.spec.N, f.spec.N)}
}

func (p *syrk[T]) order() (op engine.Operation, n, longest int) {
	return engine.OpSyrk, p.a.Rows, max(p.a.Rows, p.a.Cols)
}

func (p *syrk[T]) dims() (m, n, k int) { return p.a.Rows, p.a.Rows, p.a.Cols }

func (p *syrk[T]) flops() float64 {
	n, k := float64(p.a.Rows), float64(p.a.Cols)
	return k * n * (n + 1)
}

func (p *syrk[T]) reset() { spoil(p.c, p.workers) }

// result returns C as a symmetric matrix.
func (p *syrk[T]) result() la.Symmetric[T] {
	return la.Symmetric[T]{Uplo: blas.Lower, N: p.c.Rows, Data: p.c.Data, Stride: p.c.Stride}
}

func (p *syrk[T]) on(e *la.Engine) (func(context.Context) error, error) {
	return func(ctx context.Context) error { return la.Syrk[T](ctx, e, blas.NoTrans, 1, p.a, 0, p.result()) }, nil
}

// verify computes C − A·Aᵀ in C with gemm, one block row at a time.
func (p *syrk[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	op, n0, longest := p.order()
	nb, _ := engine.TileSize[T](e, op, n0, longest)
	n, k := p.a.Dims()
	wrong := sample(p.seed, nb, true, p.c, p.a, func(l, j int) T { return p.a.Data[j*p.a.Stride+l] })
	a, c := p.plain(p.a), p.mirrored(p.c)
	seen := p.probe(ctx, n, func(y []float64) []float64 { return difference(c.left(y), a.right(a.left(y))) })
	quadratic := func(i, n int) { step(i*i, n*n) }
	err := panels(n, quadratic, func(r, h int) error {
		return subtract(ctx, e, blas.Trans, window(p.a, r, 0, h, k), window(p.a, 0, 0, r+h, k), window(p.c, r, 0, h, r+h))
	})
	x := max(norm1(blocked.ViewSymmetric(p.result(), panel), p.workers), seen)
	rows := blocked.View(p.a, panel).Norm(lapack.MaxRowSum, p.workers) // the 1-norm of Aᵀ
	return verdict{residual: productResidual[T](x, p.norm(p.a), rows, n, k), failure: wrong}, err
}
