package bench

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// cholesky is A = L·Lᵀ, A n×n. Both triangles of A are in memory: it is
// factored by the upper one, as a mat.SymDense is, and checked against the
// lower one.
type cholesky[T la.Element] struct {
	a       la.Symmetric[T] // lower
	chol    *la.Cholesky[T] // of the engine that ran last
	engine  *la.Engine
	seed    uint64
	workers int
}

func newCholesky[T la.Element](f *maker[T]) (problem[T], error) {
	a, err := f.symmetric(f.spec.N)
	if err != nil {
		return nil, err
	}
	mirror(a, f.workers)
	return &cholesky[T]{a: a, seed: f.spec.Seed, workers: f.workers}, nil
}

func (p *cholesky[T]) order() (op la.Operation, n, longest int) { return la.OpCholesky, p.a.N, p.a.N }

func (p *cholesky[T]) flops() float64 {
	n := float64(p.a.N)
	return n*n*n/3 + n*n/2 + n/6
}

// reset has nothing to do: A is not changed, and a Cholesky is made anew by
// every call.
func (p *cholesky[T]) reset() {}

func (p *cholesky[T]) once(ctx context.Context, e *la.Engine) error {
	if p.engine != e {
		p.chol, p.engine = la.NewCholesky[T](e), e
	}
	upper := p.a
	upper.Uplo = blas.Upper
	return p.chol.FactorizeContext(ctx, upper)
}

// fork returns the problem on the same matrix, with a factor of its own.
func (p *cholesky[T]) fork() problem[T] {
	own := *p
	own.chol, own.engine = nil, nil
	return &own
}

// verify makes A − L·Lᵀ in A with syrk, panel by panel of L.
func (p *cholesky[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	n := p.a.N
	g := la.General[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)} // zeros above L
	p.chol.LTo(la.Triangular[T]{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Data: g.Data, Stride: n})
	p.chol = nil

	norm := norm1(blocked.ViewSymmetric(p.a, panel), p.workers)
	a := plain[T]{half: true, mirror: true, workers: p.workers,
		General: la.General[T]{Rows: n, Cols: n, Stride: p.a.Stride, Data: p.a.Data}}
	l := plain[T]{General: g, half: true, workers: p.workers}
	seen, err := probe(ctx, p.seed, n, func(y []float64) []float64 {
		return difference(a.left(y), l.right(l.left(y)))
	})
	if err != nil {
		return verdict{}, err
	}
	count := (n + panel - 1) / panel
	for i := range count {
		step(i, count)
		k, w := i*panel, min(panel, n-i*panel)
		rest := la.Symmetric[T]{Uplo: blas.Lower, N: n - k, Data: p.a.Data[k*p.a.Stride+k:], Stride: p.a.Stride}
		if err := la.Syrk[T](ctx, e, blas.NoTrans, -1, window(g, k, k, n-k, w), 1, rest); err != nil {
			return verdict{}, err
		}
	}
	x := max(norm1(blocked.ViewSymmetric(p.a, panel), p.workers), seen)
	return verdict{residual: over(x, norm, epsilon[T](), float64(n))}, nil
}
