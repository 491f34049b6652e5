package bench

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// trsm is X = L⁻¹·B, B m×n, L m×m lower triangular.
type trsm[T la.Element] struct {
	base[T]
	l, b la.General[T] // l has zeros above the diagonal
	x    la.General[T]
}

func newTrsm[T la.Element](f *maker[T]) problem {
	s := f.spec
	p := &trsm[T]{base: f.base, l: f.first(s.M, s.M, lowerHalf), b: f.generate(matgen.Random, 1, s.M, s.N, fullMatrix)}
	for i := range p.l.Rows {
		if p.l.Data[i*p.l.Stride+i] == 0 {
			f.note(&DiagonalError{i})
			break
		}
	}
	p.x = p.b
	if s.again() {
		p.x = empty[T](s.M, s.N)
	}
	return p
}

// DiagonalError reports a triangle with a zero on its diagonal.
type DiagonalError struct{ Index int } // from 0

func (e *DiagonalError) Error() string {
	return fmt.Sprintf("the triangle is singular: column %d (counted from 1) has a zero on the diagonal", e.Index+1)
}

func (p *trsm[T]) order() (op engine.Operation, n, longest int) {
	return engine.OpTrsm, p.x.Rows, max(p.x.Rows, p.x.Cols)
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

func (p *trsm[T]) on(e *la.Engine) (func(context.Context) error, error) {
	return func(ctx context.Context) error {
		return la.Trsm[T](ctx, e, blas.Left, blas.NoTrans, 1, p.factor(), p.x)
	}, nil
}

// verify computes B − L·X in B with gemm, panel by panel of L.
func (p *trsm[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	m, n := p.x.Dims()
	l, b, x := p.lower(p.l), p.plain(p.b), p.plain(p.x)
	seen := p.probe(ctx, m, func(y []float64) []float64 { return difference(b.left(y), x.left(l.left(y))) })
	err := panels(m, step, func(k, w int) error {
		return subtract(ctx, e, blas.NoTrans, window(p.l, k, k, m-k, w), window(p.x, k, 0, w, n), window(p.b, k, 0, m-k, n))
	})
	normL := norm1(blocked.ViewTriangular(p.factor(), panel), p.workers)
	return verdict{residual: over(max(p.norm(p.b), seen), normL, p.norm(p.x), epsilon[T](), float64(m))}, err
}
