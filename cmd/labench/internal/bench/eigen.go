package bench

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// eigen is A = V·Λ·Vᵀ, A n×n. Both triangles of A are in memory, and the upper one is read.
type eigen[T la.Element] struct {
	base[T]
	a      la.Symmetric[T]
	values bool // without V
	last   *la.EigenSym[T]

	reduction la.Reduction
}

// newEigen makes A.
func newEigen[T la.Element](f *maker[T]) problem {
	a := f.symmetric(f.spec.N)
	if !f.blank {
		mirror(a, f.workers)
	}
	a.Uplo = blas.Upper
	return &eigen[T]{base: f.base, a: a, values: f.spec.Values, reduction: f.spec.Reduction}
}

// order returns no operation of la, since there are no tiles: see Operation.whole.
func (p *eigen[T]) order() (op engine.Operation, n, longest int) { return 0, p.a.N, p.a.N }

func (p *eigen[T]) flops() float64 { return EigenFlops(p.a.N, p.values) }

func (p *eigen[T]) on(e *la.Engine) (func(context.Context) error, error) {
	c := la.NewEigenSym[T](e)
	p.last = c
	return func(ctx context.Context) error { return c.Factorize(p.a, !p.values, la.WithContext(ctx), p.reduction) }, nil
}

func (p *eigen[T]) describe(r *Result) {
	r.Stages, r.Choice = stageTimes(p.last.Stages()), choiceOf[T](p.last.Choice())
}

// choiceOf returns the choice of a decomposition in bytes and seconds, or nil if it had none.
func choiceOf[T la.Element](c la.ReductionChoice) *ReductionChoice {
	if c.One == 0 {
		return nil
	}
	return &ReductionChoice{c.One.Seconds(), c.Two.Seconds(), c.Rates.All / 1e9, c.Rates.Memory * float64(scalar.Size[T]()), c.Measured}
}

// stageTimes returns the stages of a decomposition.
func stageTimes(stages []la.Stage) (times []StageTime) {
	for _, s := range stages {
		rate := 0.0
		if s.Time > 0 {
			rate = s.Flops / s.Time.Seconds() / 1e9
		}
		times = append(times, StageTime{s.Name, s.Time.Seconds(), rate})
	}
	return times
}

// verify computes A·V − V·Λ and VᵀV − I. Eigenvalues alone are compared with those of a decomposition with
// vectors, which is verified.
func (p *eigen[T]) verify(ctx context.Context, e *la.Engine, _ func(i, n int)) (verdict, error) {
	n := p.a.N
	values, decomposition := p.last.Values(nil), p.last
	if p.values {
		decomposition = la.NewEigenSym[T](e)
		if err := decomposition.Factorize(p.a, true, la.WithContext(ctx)); err != nil {
			return verdict{}, err
		}
	}
	a := la.General[T]{Rows: n, Cols: n, Stride: p.a.Stride, Data: p.a.Data}
	vectors, remainder := empty[T](n, n), empty[T](n, n)
	decomposition.VectorsTo(vectors)
	norm := p.norm(a)
	with := decomposition.Values(nil)
	mirrored, plain := p.mirrored(a), p.plain(vectors)
	seen := p.probe(ctx, n, func(y []float64) []float64 {
		x := plain.left(y)
		for j, lambda := range with {
			x[j] *= float64(lambda)
		}
		return difference(mirrored.left(y), plain.right(x))
	})
	if err := la.Gemm[T](ctx, e, blas.NoTrans, blas.NoTrans, 1, a, vectors, 0, remainder); err != nil {
		return verdict{}, err
	}
	for i := range n {
		for j, lambda := range with {
			remainder.Data[i*remainder.Stride+j] -= vectors.Data[i*vectors.Stride+j] * lambda
		}
	}
	residual := over(max(p.norm(remainder), seen), norm, epsilon[T](), float64(n))
	loss, err := p.lossOf(ctx, e, vectors)
	out := verdict{checks: []Check{{Formula("eigen"), residual, Limit("eigen")}, {orthogonality("V"), loss, Limit("eigen")}}}
	if p.values {
		out.checks = append(out.checks, Check{"max |λ − λ with vectors| / (n·‖A‖·ε)", over(apart(values, with), norm, epsilon[T](), float64(n)), Limit("eigen")})
	}
	return out, err
}

// orthogonality returns the formula of lossOf for a matrix with the given name.
func orthogonality(name string) string { return "‖" + name + "ᵀ" + name + "−I‖ / (m·ε)" }

// lossOf returns ‖QᵀQ − I‖/(m·ε) in the 1-norm, for an m×n matrix Q.
func (p *base[T]) lossOf(ctx context.Context, e *la.Engine, q la.General[T]) (Number, error) {
	g := empty[T](q.Cols, q.Cols)
	if err := la.Gemm[T](ctx, e, blas.Trans, blas.NoTrans, 1, q, q, 0, g); err != nil {
		return 0, err
	}
	for i := range q.Cols {
		g.Data[i*g.Stride+i]--
	}
	return over(p.norm(g), epsilon[T](), float64(q.Rows)), nil
}

// apart returns the largest difference between elements of x and y.
func apart[T la.Element](x, y []T) (most float64) {
	for i, v := range x {
		if d := math.Abs(float64(v) - float64(y[i])); !(d <= most) {
			most = d
		}
	}
	return most
}

// svd is A = U·Σ·Vᵀ, A m×n, U m×k and V n×k with k = min(m, n).
type svd[T la.Element] struct {
	base[T]
	a      la.General[T]
	values bool // without U and V
	last   *la.SVD[T]

	reduction la.Reduction
}

// newSVD makes A.
func newSVD[T la.Element](f *maker[T]) problem {
	return &svd[T]{base: f.base, a: f.first(f.spec.M, f.spec.N, fullMatrix), values: f.spec.Values, reduction: f.spec.Reduction}
}

// order returns no operation of la, since there are no tiles: see Operation.whole.
func (p *svd[T]) order() (op engine.Operation, n, longest int) {
	return 0, mean(p.a.Rows, p.a.Cols), max(p.a.Rows, p.a.Cols)
}

func (p *svd[T]) flops() float64 { return SVDFlops(p.a.Rows, p.a.Cols, p.values) }

func (p *svd[T]) on(e *la.Engine) (func(context.Context) error, error) {
	c, kind := la.NewSVD[T](e), mat.SVDThin
	if p.values {
		kind = mat.SVDNone
	}
	p.last = c
	return func(ctx context.Context) error { return c.Factorize(p.a, kind, la.WithContext(ctx), p.reduction) }, nil
}

func (p *svd[T]) describe(r *Result) {
	r.Stages, r.Choice = stageTimes(p.last.Stages()), choiceOf[T](p.last.Choice())
}

// verify computes A − U·Σ·Vᵀ, UᵀU − I and VᵀV − I. Singular values alone are compared with those of a decomposition
// with vectors, which is verified.
func (p *svd[T]) verify(ctx context.Context, e *la.Engine, _ func(i, n int)) (verdict, error) {
	m, n := p.a.Dims()
	k := min(m, n)
	values, decomposition := p.last.Values(nil), p.last
	if p.values {
		decomposition = la.NewSVD[T](e)
		if err := decomposition.Factorize(p.a, mat.SVDThin, la.WithContext(ctx)); err != nil {
			return verdict{}, err
		}
	}
	u, v := empty[T](m, k), empty[T](n, k)
	decomposition.UTo(u)
	decomposition.VTo(v)
	norm, with := p.norm(p.a), decomposition.Values(nil)
	lossU, err := p.lossOf(ctx, e, u)
	if err != nil {
		return verdict{}, err
	}
	lossV, err := p.lossOf(ctx, e, v)
	if err != nil {
		return verdict{}, err
	}
	for i := range m {
		for j, sigma := range with {
			u.Data[i*u.Stride+j] *= sigma
		}
	}
	a, left, right := p.plain(p.a), p.plain(u), p.plain(v)
	seen := p.probe(ctx, m, func(y []float64) []float64 { return difference(a.left(y), right.right(left.left(y))) })
	if err := la.Gemm[T](ctx, e, blas.NoTrans, blas.Trans, -1, u, v, 1, p.a); err != nil {
		return verdict{}, err
	}
	size := float64(max(m, n))
	residual := over(max(p.norm(p.a), seen), norm, epsilon[T](), size)
	out := verdict{checks: []Check{{Formula("svd"), residual, Limit("svd")},
		{orthogonality("U"), lossU, Limit("svd")}, {orthogonality("V"), lossV, Limit("svd")}}}
	if p.values {
		out.checks = append(out.checks, Check{"max |σ − σ with vectors| / (max(m, n)·‖A‖·ε)", over(apart(values, with), norm, epsilon[T](), size), Limit("svd")})
	}
	return out, nil
}
