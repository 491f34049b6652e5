package bench

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// eigenGeneral is A·v = λ·v for a square A.
type eigenGeneral[T la.Element] struct {
	base[T]
	a      la.General[T]
	values bool // without vectors
	last   *la.Eigen[T]
}

// newEigenGeneral makes A.
func newEigenGeneral[T la.Element](f *maker[T]) problem {
	return &eigenGeneral[T]{base: f.base, a: f.first(f.spec.N, f.spec.N, false), values: f.spec.Values}
}

// order returns no operation of la, since there are no tiles: see Operation.whole.
func (p *eigenGeneral[T]) order() (op engine.Operation, n, longest int) { return 0, p.a.Rows, p.a.Rows }

func (p *eigenGeneral[T]) flops() float64 { return generalFlops(p.a.Rows, p.values) }

func (p *eigenGeneral[T]) on(e *la.Engine) (func(context.Context) error, error) {
	c, kind := la.NewEigen[T](e), mat.EigenRight
	if p.values {
		kind = mat.EigenNone
	}
	p.last = c
	return func(ctx context.Context) error { return c.Factorize(p.a, kind, la.WithContext(ctx)) }, nil
}

func (p *eigenGeneral[T]) describe(r *Result) { r.Stages = stageTimes(p.last.Stages()) }

// verify computes A·V − V·Λ and the norms of the vectors. Eigenvalues may be sensitive, so eigenvalues alone are not compared
// with others: their sum must be the trace of A, and the sum of their squares that of A².
func (p *eigenGeneral[T]) verify(ctx context.Context, e *la.Engine, _ func(i, n int)) (verdict, error) {
	n := p.a.Rows
	re, im := make([]T, n), make([]T, n)
	norm := p.norm(p.a)
	if p.values && norm == 0 {
		norm = 1
	}
	if p.values {
		p.last.RealTo(re, im, nil, nil)
		trace, square := 0.0, 0.0
		for i := range n {
			trace += float64(p.a.At(i, i)) - float64(re[i])
			// In units of the norm, since squares may be out of range.
			x, y := float64(re[i])/norm, float64(im[i])/norm
			square -= (x - y) * (x + y)
			for j := range n {
				square += float64(p.a.At(i, j)) / norm * (float64(p.a.At(j, i)) / norm)
			}
		}
		return verdict{checks: []Check{
			{"|tr A − Σλ| / (n·‖A‖·ε)", over(math.Abs(trace), norm, epsilon[T](), float64(n)), Limit("eigen")},
			{"|tr A² − Σλ²| / (n·‖A‖²·ε)", over(math.Abs(square), epsilon[T](), float64(n)), Limit("eigen")},
		}}, nil
	}
	v, remainder := empty[T](n, n), empty[T](n, n)
	p.last.RealTo(re, im, nil, v)
	// times multiplies rows, x, from the right by Λ as a matrix with a block of order 2 for each pair.
	times := func(at func(j int) float64, set func(j int, y float64)) {
		for j := 0; j < n; j++ {
			a, b := float64(re[j]), float64(im[j])
			x := at(j)
			if b == 0 {
				set(j, a*x)
				continue
			}
			y := at(j + 1)
			set(j, a*x-b*y)
			set(j+1, b*x+a*y)
			j++
		}
	}
	a, vectors := p.plain(p.a), p.plain(v)
	seen := p.probe(ctx, n, func(y []float64) []float64 {
		x := vectors.left(y)
		times(func(j int) float64 { return x[j] }, func(j int, z float64) { x[j] = z })
		return difference(vectors.left(a.left(y)), x)
	})
	if err := la.Gemm[T](ctx, e, blas.NoTrans, blas.NoTrans, 1, p.a, v, 0, remainder); err != nil {
		return verdict{}, err
	}
	worst := 0.0 // |‖v‖² − 1|
	squares := make([]float64, n)
	for i := range n {
		row := v.Data[i*v.Stride:][:n]
		times(func(j int) float64 { return float64(row[j]) }, func(j int, z float64) { remainder.Data[i*remainder.Stride+j] -= T(z) })
		for j, x := range row {
			squares[j] += float64(x) * float64(x)
		}
	}
	for j := 0; j < n; j++ {
		sum := squares[j]
		if im[j] != 0 {
			j++
			sum += squares[j]
		}
		worst = max(worst, math.Abs(sum-1))
	}
	residual := over(max(p.norm(remainder), seen), norm, epsilon[T](), float64(n))
	return verdict{checks: []Check{{Formula("eigen"), residual, Limit("eigen")},
		{"max |‖v‖²−1| / (n·ε)", over(worst, epsilon[T](), float64(n)), Limit("eigen")}}}, nil
}

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
	g := f.generate(f.spec.B, 1, n, n, true)
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
	most := 0.0 // the largest eigenvalue
	for _, v := range with {
		most = max(most, math.Abs(float64(v)))
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
	size := (p.norm(a) + most*p.norm(b)) * p.norm(x)
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
		out.checks = append(out.checks, Check{"max |λ − λ with vectors| / (n·max |λ|·ε)", over(apart(values, with), most, epsilon[T](), float64(n)), Limit("eigen")})
	}
	return out, nil
}
