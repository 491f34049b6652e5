package bench

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// cholesky is A = L·Lᵀ, A n×n. Both triangles of A are in memory. The upper one is factored, as in a
// mat.SymDense, and the result is checked with the lower one.
type cholesky[T la.Element] struct {
	base[T]
	kept
	a    la.Symmetric[T] // lower
	chol *la.Cholesky[T] // of the engine that was made last
}

func newCholesky[T la.Element](f *maker[T]) problem {
	a := f.symmetric(f.spec.N)
	if !f.blank {
		mirror(a, f.workers)
	}
	return &cholesky[T]{base: f.base, kept: kept{keep: f.spec.Checkpoint}, a: a}
}

func (p *cholesky[T]) order() (op engine.Operation, n, longest int) {
	return engine.OpCholesky, p.a.N, p.a.N
}

func (p *cholesky[T]) flops() float64 {
	n := float64(p.a.N)
	return n*n*n/3 + n*n/2 + n/6
}

func (p *cholesky[T]) on(e *la.Engine) (func(context.Context) error, error) {
	chol, upper := la.NewCholesky[T](e), p.a
	p.chol, upper.Uplo = chol, blas.Upper
	return func(ctx context.Context) error { return factor[la.SymmetricSource[T]](ctx, &p.kept, chol, upper) }, nil
}

func (p *cholesky[T]) describe(r *Result) { p.kept.describe(r) }

// verify computes A − L·Lᵀ in A with syrk, panel by panel of L.
func (p *cholesky[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	n := p.a.N
	g := empty[T](n, n) // zeros above L
	p.chol.LTo(la.Triangular[T]{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Data: g.Data, Stride: n})
	p.chol = nil

	norm := norm1(blocked.ViewSymmetric(p.a, panel), p.workers)
	a, l := p.mirrored(la.General[T]{Rows: n, Cols: n, Stride: p.a.Stride, Data: p.a.Data}), p.lower(g)
	seen := p.probe(ctx, n, func(y []float64) []float64 { return difference(a.left(y), l.right(l.left(y))) })
	err := panels(n, step, func(k, w int) error {
		rest := la.Symmetric[T]{Uplo: blas.Lower, N: n - k, Data: p.a.Data[k*p.a.Stride+k:], Stride: p.a.Stride}
		return la.Syrk[T](ctx, e, blas.NoTrans, -1, window(g, k, k, n-k, w), 1, rest)
	})
	x := max(norm1(blocked.ViewSymmetric(p.a, panel), p.workers), seen)
	return verdict{residual: over(x, norm, epsilon[T](), float64(n))}, err
}
