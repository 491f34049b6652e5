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
	return &eigenGeneral[T]{base: f.base, a: f.first(f.spec.N, f.spec.N, fullMatrix), values: f.spec.Values}
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
	if p.values {
		return p.verifyValues(), nil
	}
	return p.verifyVectors(ctx, e)
}

func (p *eigenGeneral[T]) verifyValues() verdict {
	n := p.a.Rows
	norm := p.norm(p.a)
	if norm == 0 {
		norm = 1
	}
	re, im := make([]T, n), make([]T, n)
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
	}}
}

func (p *eigenGeneral[T]) verifyVectors(ctx context.Context, e *la.Engine) (verdict, error) {
	n := p.a.Rows
	re, im := make([]T, n), make([]T, n)
	v, remainder := empty[T](n, n), empty[T](n, n)
	p.last.RealTo(re, im, nil, v)
	a, vectors := p.plain(p.a), p.plain(v)
	seen := p.probe(ctx, n, func(y []float64) []float64 {
		x := vectors.left(y)
		timesEigenvalues(re, im, func(j int) float64 { return x[j] }, func(j int, z float64) { x[j] = z })
		return difference(vectors.left(a.left(y)), x)
	})
	if err := la.Gemm[T](ctx, e, blas.NoTrans, blas.NoTrans, 1, p.a, v, 0, remainder); err != nil {
		return verdict{}, err
	}
	squares := make([]float64, n) // of the norms of the columns of V
	for i := range n {
		row, rest := v.Data[i*v.Stride:][:n], remainder.Data[i*remainder.Stride:][:n]
		timesEigenvalues(re, im, func(j int) float64 { return float64(row[j]) }, func(j int, z float64) { rest[j] -= T(z) })
		for j, x := range row {
			squares[j] += float64(x) * float64(x)
		}
	}
	worst := 0.0 // |‖v‖² − 1|
	for j := 0; j < n; j++ {
		sum := squares[j]
		if im[j] != 0 { // the next column is the imaginary part of the same vector
			j++
			sum += squares[j]
		}
		worst = max(worst, math.Abs(sum-1))
	}
	residual := over(max(p.norm(remainder), seen), p.norm(p.a), epsilon[T](), float64(n))
	return verdict{checks: []Check{{Formula("eigen"), residual, Limit("eigen")},
		{"max |‖v‖²−1| / (n·ε)", over(worst, epsilon[T](), float64(n)), Limit("eigen")}}}, nil
}

// timesEigenvalues multiplies a row from the right by the matrix of the eigenvalues, which is real: it has a block of
// order 2 for each conjugate pair. at returns an element of the row, set gets one of the product.
func timesEigenvalues[T la.Element](re, im []T, at func(j int) float64, set func(j int, y float64)) {
	for j := 0; j < len(re); j++ {
		a, b := float64(re[j]), float64(im[j])
		x := at(j)
		if b == 0 {
			set(j, a*x)
			continue
		}
		y := at(j + 1)
		set(j, a*x-b*y)
		set(j+1, b*x+a*y)
		j++ // over the second one of the pair
	}
}
