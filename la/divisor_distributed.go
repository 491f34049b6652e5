package la

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/blas"
)

// distributedDivisor is newDivisor for a distributed matrix, whose kind decides the method. It
// expands a symmetric matrix to a Full one only if that is not positive definite.
func distributedDivisor[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T]) (divisor[T], error) {
	switch a.Kind() {
	case blocked.TriLower, blocked.TriUpper:
		d, err := triangularDivisor(ctx, e, a, blas.NoTrans, a.Kind() == blocked.TriUpper)
		d.distributed = a
		return d, err
	case blocked.SymLower, blocked.SymUpper:
		d := divisor[T]{report: SolveReport{Method: MethodCholesky}}
		if _, err := measured(ctx, e, a); err != nil {
			return d, err
		}
		if positiveDiagonal(a) {
			c := &Cholesky[T]{engine: e}
			copied, err := copyDistributed(ctx, e, a, blocked.SymUpper)
			if err == nil {
				err = c.factorizeInPlace(ctx, copied, nil)
			}
			var npd *NotPositiveDefiniteError
			if err == nil {
				d = divisorOfCholesky(ctx, e, c)
				d.distributed, d.end = a, copied.Close
				return d, nil
			}
			closeMatrix(copied)
			if !errors.As(err, &npd) {
				return d, err
			}
			d.report.Minor = npd.Minor
		}
		minor := d.report.Minor
		d, err := distributedLUDivisor(ctx, e, a)
		d.report.Minor = minor
		return d, err
	}
	return distributedLUDivisor(ctx, e, a)
}

// distributedLUDivisor factors a copy of a on the nodes and returns the divisor.
func distributedLUDivisor[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T]) (divisor[T], error) {
	d := divisor[T]{report: SolveReport{Method: MethodLU}}
	f := &LU[T]{engine: e}
	copied, err := copyDistributed(ctx, e, a, blocked.Full)
	if err == nil {
		err = f.factorizeInPlace(ctx, copied, nil)
	}
	if err != nil {
		closeMatrix(copied)
		return d, err
	}
	d = divisorOfLU(ctx, f)
	d.distributed, d.end = a, copied.Close
	return d, nil
}
