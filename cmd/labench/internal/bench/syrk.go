package bench

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// syrk is C = A·Aᵀ, C n×n in its lower triangle, A n×k.
type syrk[T la.Element] struct {
	a, c    la.General[T]
	seed    uint64
	workers int
}

func newSyrk[T la.Element](f *maker[T]) (problem[T], error) {
	s := f.spec
	a, err := f.first(s.N, s.K, false)
	if err != nil {
		return nil, err
	}
	return &syrk[T]{a: a, c: f.empty(s.N, s.N), seed: s.Seed, workers: f.workers}, nil
}

func (p *syrk[T]) order() (op la.Operation, n, longest int) {
	return la.OpSyrk, p.a.Rows, max(p.a.Rows, p.a.Cols)
}

func (p *syrk[T]) flops() float64 {
	n, k := float64(p.a.Rows), float64(p.a.Cols)
	return k * n * (n + 1)
}

func (p *syrk[T]) reset() { spoil(p.c, p.workers) }

// result returns C as a symmetric matrix.
func (p *syrk[T]) result() la.Symmetric[T] {
	return la.Symmetric[T]{Uplo: blas.Lower, N: p.c.Rows, Data: p.c.Data, Stride: p.c.Stride}
}

func (p *syrk[T]) once(ctx context.Context, e *la.Engine) error {
	return la.Syrk[T](ctx, e, blas.NoTrans, 1, p.a, 0, p.result())
}

// verify makes C − A·Aᵀ in C with gemm, block row by block row.
func (p *syrk[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	op, n0, longest := p.order()
	nb, _ := la.TileSize[T](e, op, n0, longest)
	n, k := p.a.Dims()
	wrong := sample(p.seed, nb, true, p.c, p.a, func(l, j int) T { return p.a.Data[j*p.a.Stride+l] })
	a := plain[T]{General: p.a, workers: p.workers}
	c := plain[T]{General: p.c, half: true, mirror: true, workers: p.workers}
	seen, err := probe(ctx, p.seed, n, func(y []float64) []float64 {
		return difference(c.left(y), a.right(a.left(y)))
	})
	if err != nil {
		return verdict{}, err
	}
	count := (n + panel - 1) / panel
	for i := range count {
		step(i*i, count*count)
		r, h := i*panel, min(panel, n-i*panel)
		if err := subtract(ctx, e, blas.Trans, window(p.a, r, 0, h, k), window(p.a, 0, 0, r+h, k), window(p.c, r, 0, h, r+h)); err != nil {
			return verdict{}, err
		}
	}
	x := max(norm1(blocked.ViewSymmetric(p.result(), panel), p.workers), seen)
	va := blocked.View(p.a, panel)
	rows := va.Norm(lapack.MaxRowSum, p.workers) // the 1-norm of Aᵀ
	return verdict{residual: productResidual[T](x, norm1(va, p.workers), rows, n, k), failure: wrong}, nil
}
