package la

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/mat"
)

// PCA is the principal component analysis of m observations of n variables, the rows and columns of an m×n matrix A,
// after gonum's stat.PC. With the weighted means μ of the columns and the weights w,
//
//	diag(√w)·(A − 1·μᵀ) = U·Σ·Vᵀ,
//
// the columns of V are the principal components, and σ²/(Σw − 1) are their variances, in descending order. Variables are
// not scaled. The signs of components are not defined.
//
// The matrix is centered and decomposed, after a QR factorization if there are many more observations than
// variables. The covariance matrix, whose condition number is that of A squared, is not made.
//
// The zero value is without an analysis and uses the default engine. A PCA may be read from several goroutines
// at once.
type PCA[T Element] struct {
	svd   SVD[T]
	qr    QR[T]
	a     *blocked.Matrix[T] // one tile: the centered matrix
	means []T
	total float64 // Σw
}

// NewPCA returns an empty analysis that computes on e.
func NewPCA[T Element](e *Engine) *PCA[T] {
	return &PCA[T]{svd: SVD[T]{engine: e}, qr: QR[T]{engine: e}}
}

// Factorize analyses a, which is not changed. weights has one weight for each observation, or is nil: then all are 1. A
// former analysis is replaced and its memory used again.
//
// The option is [WithContext]. When the context ends, the analysis is broken off, and the cause returned.
//
// The error is a *ShapeError if there is another number of weights, ErrWeights, a *NonFiniteError, or one of
// [SVD.Factorize]. c is then empty.
func (c *PCA[T]) Factorize(a Source[T], weights []T, opts ...CallOption) error {
	ctx, err := contextOf("PCA.Factorize", opts)
	if err != nil {
		c.svd.Reset()
		return err
	}
	return c.factorize(ctx, a, weights)
}

// factorize is Factorize in a context.
func (c *PCA[T]) factorize(ctx context.Context, a Source[T], weights []T) error {
	m, n := a.Dims()
	c.svd.Reset()
	e := c.svd.engine
	if err := e.Ready(ctx); err != nil {
		return err
	}
	if x, ok := any(a).(*blocked.Matrix[T]); ok && x.IsDistributed() {
		return blocked.ErrAway
	}
	if weights != nil && len(weights) != m {
		return &ShapeError{"PCA", fmt.Sprintf("%d observations, and %d weights", m, len(weights))}
	}
	c.total = float64(m)
	if weights != nil {
		c.total = 0
		for _, w := range weights {
			if !(w >= 0) {
				return ErrWeights
			}
			c.total += float64(w)
		}
	}
	if !(c.total > 1) || math.IsInf(c.total, 1) {
		return ErrWeights
	}
	nb := max(m, n, 1)
	if !fits(c.a, m, n, nb) {
		c.a = nil
	}
	r := newReading(e, c.a, a, blocked.Full, nb, readingOptions{alone: true})
	c.a = r.a
	if err := r.nonFinite(); err != nil {
		return err
	}
	if n > 0 {
		c.center(weights)
	}
	if m < 2*n {
		return c.svd.factorize(callOptions{ctx: ctx}, c.a, mat.SVDThinV)
	}
	// A = Q·R has the values and the right vectors of R.
	if err := c.qr.factorize(ctx, c.a); err != nil {
		return err
	}
	upper := General[T]{Rows: n, Cols: n, Stride: max(n, 1), Data: make([]T, n*n)}
	c.qr.RTo(upper)
	return c.svd.factorize(callOptions{ctx: ctx}, upper, mat.SVDThinV)
}

// center subtracts the means of the columns, and multiplies rows by the roots of their weights.
func (c *PCA[T]) center(weights []T) {
	a := c.a.Tile(0, 0)
	means, rest := make([]float64, a.Cols), make([]float64, a.Cols)
	share := func(i int) float64 {
		if weights == nil {
			return 1 / c.total
		}
		return float64(weights[i]) / c.total
	}
	for i := range a.Rows {
		w, sums := share(i), means
		for j, x := range a.Row(i) {
			sums[j] += w * float64(x)
		}
	}
	// What rounding has left of the means is subtracted, too.
	for i := range a.Rows {
		w, row, rest := share(i), a.Row(i), rest[:len(means)]
		for j, mean := range means {
			x := float64(row[j]) - mean
			row[j] = T(x)
			rest[j] += w * x
		}
	}
	for i := range a.Rows {
		root := 1.0
		if weights != nil {
			root = math.Sqrt(float64(weights[i]))
		}
		row := a.Row(i)
		for j, r := range rest {
			row[j] = T((float64(row[j]) - r) * root)
		}
	}
	c.means = append(c.means[:0], make([]T, a.Cols)...)
	for j, r := range rest {
		c.means[j] = T(means[j] + r)
	}
}

// Dims returns the numbers of variables and of components, n and min(m, n). It panics with ErrNotFactorized, as all that
// follow do, if there is no analysis.
func (c *PCA[T]) Dims() (variables, components int) {
	_, n := c.svd.Dims()
	return n, len(c.svd.values)
}

// Variances copies the variances of the components to dst, in descending order, and returns it. A nil dst is
// allocated; it panics with mat.ErrSliceLengthMismatch if another one has not as many elements as there are
// components.
func (c *PCA[T]) Variances(dst []T) []T {
	dst = c.svd.Values(dst)
	for i, x := range dst {
		dst[i] = T(float64(x) / (c.total - 1) * float64(x))
	}
	return dst
}

// Means copies the means of the variables to dst and returns it, as Variances does.
func (c *PCA[T]) Means(dst []T) []T {
	c.Dims()
	return valuesTo(dst, c.means)
}

// VectorsTo copies the components to the columns of dst, n×min(m, n). An empty *mat.Dense takes the shape. It panics
// with mat.ErrShape if dst has another one.
func (c *PCA[T]) VectorsTo(dst Sink[T]) { c.svd.VTo(dst) }
