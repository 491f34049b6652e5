package la

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/blas"
)

// inBand returns the bandwidths of a, of which both are less than n, or false if a is not known to be a band matrix whose
// zeros are worth to be left out.
func inBand[T Element](a Source[T]) (kl, ku int, ok bool) {
	b, ok := a.(BandSource[T])
	if !ok {
		return 0, 0, false
	}
	rows, cols := a.Dims()
	kl, ku = b.Bandwidth()
	last := max(0, min(rows, cols)-1)
	kl, ku = min(kl, last), min(ku, last)
	return kl, ku, rows == cols && kl >= 0 && ku >= 0 && kl+ku < rows/2
}

// bandDivisor factors the n×n band matrix a and returns the divisor.
func bandDivisor[T Element](ctx context.Context, e *Engine, a Source[T], kl, ku int) (divisor[T], error) {
	n, _ := a.Dims()
	d := divisor[T]{report: SolveReport{Method: MethodLU, Band: true}, nb: max(n, 1)}
	f := &bandFactors[T]{engine: e}
	var err error
	s, symmetric := a.(SymmetricSource[T])
	switch {
	case symmetric && kl == ku && positive(s):
		d.report.Method = MethodCholesky
		if err = f.cholesky(ctx, s, ku); err != nil {
			npd, ok := err.(*NotPositiveDefiniteError)
			if !ok {
				return d, err
			}
			d.report.Method, d.report.Minor = MethodLU, npd.Minor
			err = f.lu(ctx, a, kl, ku)
		}
	case kl == 0:
		d.report.Method = MethodTriangular
		err = f.lu(ctx, a, kl, ku)
	case ku == 0:
		d.report.Method = MethodTriangular
		f.turned = true
		err = f.lu(ctx, transposedBand[T]{a}, ku, kl)
	default:
		err = f.lu(ctx, a, kl, ku)
	}
	if err != nil {
		return d, err
	}
	d.solve = func(x *blocked.Matrix[T]) error { return f.solve(ctx, blas.NoTrans, x) }
	d.transposed = func(x *blocked.Matrix[T]) error { return f.solve(ctx, blas.Trans, x) }
	d.condition = func() error { return f.conditionError(ctx) }
	return d, nil
}

// positive reports whether all diagonal elements of a are positive.
func positive[T Element](a SymmetricSource[T]) bool {
	for i := range a.SymmetricDim() {
		if !(a.At(i, i) > 0) {
			return false
		}
	}
	return true
}

// transposedBand is the transpose of a band matrix.
type transposedBand[T Element] struct{ a Source[T] }

// Dims returns the numbers of rows and columns.
func (t transposedBand[T]) Dims() (rows, cols int) {
	rows, cols = t.a.Dims()
	return cols, rows
}

// At returns element (i, j).
func (t transposedBand[T]) At(i, j int) T { return t.a.At(j, i) }
