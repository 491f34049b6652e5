package bench

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// eigenGeneralized is A·X = B·X·Λ, A and B n×n. Both triangles of each are in memory, and the upper ones are read.
type eigenGeneralized[T la.Element] struct {
	base[T]
	a, b   la.Symmetric[T]
	values bool // without X
	last   *la.EigenSymGeneralized[T]
}

// newEigenGeneralized makes A and B.
func newEigenGeneralized[T la.Element](f *maker[T]) problem {
	n := f.spec.N
	g := f.generate(f.spec.B, 1, n, n, lowerHalf)
	p := &eigenGeneralized[T]{base: f.base, a: f.symmetric(n), values: f.spec.Values}
	p.b = la.Symmetric[T]{N: n, Stride: g.Stride, Data: g.Data}
	for _, x := range []*la.Symmetric[T]{&p.a, &p.b} {
		if !f.blank {
			mirror(*x, f.workers)
		}
		x.Uplo = blas.Upper
	}
	return p
}

// order returns no operation of la, since there are no tiles: see Operation.whole.
func (p *eigenGeneralized[T]) order() (op engine.Operation, n, longest int) { return 0, p.a.N, p.a.N }

func (p *eigenGeneralized[T]) flops() float64 { return generalizedFlops(p.a.N, p.values) }

func (p *eigenGeneralized[T]) on(e *la.Engine) (func(context.Context) error, error) {
	c := la.NewEigenSymGeneralized[T](e)
	p.last = c
	return func(ctx context.Context) error { return c.Factorize(p.a, p.b, !p.values, la.WithContext(ctx)) }, nil
}

func (p *eigenGeneralized[T]) describe(r *Result) { r.Stages = stageTimes(p.last.Stages()) }

// verify computes A·X − B·X·Λ and Xᵀ·B·X − I. Eigenvalues alone are compared with those of a solution with vectors, which is
// verified.
func (p *eigenGeneralized[T]) verify(ctx context.Context, e *la.Engine, _ func(i, n int)) (verdict, error) {
	n := p.a.N
	values, solution := p.last.Values(nil), p.last
	if p.values {
		solution = la.NewEigenSymGeneralized[T](e)
		if err := solution.Factorize(p.a, p.b, true, la.WithContext(ctx)); err != nil {
			return verdict{}, err
		}
	}
	a := la.General[T]{Rows: n, Cols: n, Stride: p.a.Stride, Data: p.a.Data}
	b := la.General[T]{Rows: n, Cols: n, Stride: p.b.Stride, Data: p.b.Data}
	x, bx, remainder := empty[T](n, n), empty[T](n, n), empty[T](n, n)
	solution.VectorsTo(x)
	with := solution.Values(nil)
	radius := 0.0 // the spectral radius
	for _, v := range with {
		radius = max(radius, math.Abs(float64(v)))
	}
	plainA, plainB, plainX := p.mirrored(a), p.mirrored(b), p.plain(x)
	seen := p.probe(ctx, n, func(y []float64) []float64 {
		z := plainX.left(plainB.left(y))
		for j, lambda := range with {
			z[j] *= float64(lambda)
		}
		return difference(plainX.left(plainA.left(y)), z)
	})
	mul := func(trans blas.Transpose, a, b, c la.General[T]) error {
		return la.Gemm[T](ctx, e, trans, blas.NoTrans, 1, a, b, 0, c)
	}
	if err := mul(blas.NoTrans, a, x, remainder); err != nil {
		return verdict{}, err
	}
	if err := mul(blas.NoTrans, b, x, bx); err != nil {
		return verdict{}, err
	}
	for i := range n {
		for j, lambda := range with {
			remainder.Data[i*n+j] -= bx.Data[i*n+j] * lambda
		}
	}
	size := (p.norm(a) + radius*p.norm(b)) * p.norm(x)
	residual := over(max(p.norm(remainder), seen), size, epsilon[T](), float64(n))
	if err := mul(blas.Trans, x, bx, remainder); err != nil {
		return verdict{}, err
	}
	for i := range n {
		remainder.Data[i*n+i]--
	}
	loss := over(p.norm(remainder), epsilon[T](), float64(n))
	out := verdict{checks: []Check{{"‖AX−BXΛ‖ / (n·(‖A‖+|λ|‖B‖)·‖X‖·ε)", residual, Limit("eigen")},
		{"‖XᵀBX−I‖ / (n·ε)", loss, Limit("eigen")}}}
	if p.values {
		out.checks = append(out.checks, Check{"max |λ − λ with vectors| / (n·max |λ|·ε)", over(apart(values, with), radius, epsilon[T](), float64(n)), Limit("eigen")})
	}
	return out, nil
}
