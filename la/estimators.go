package la

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// inverse is A⁻¹ as an operator, with A of order n: apply overwrites each x with A⁻¹·x, and
// transposed with A⁻ᵀ·x. If root is not nil, A⁻¹ = B·Bᵀ and root overwrites x with B·x, in half
// the time of apply.
type inverse struct {
	n                       int
	apply, transposed, root func(x ...[]float64) error
}

// scaled returns the inverse of A·D, where the diagonal matrix D gives every column of A the norm
// of the longest one: norm is that norm, and columns holds the norms of all.
func (v inverse) scaled(of float64, columns []float64) inverse {
	shorten := func(vectors [][]float64) {
		for _, x := range vectors {
			for i := range x {
				x[i] *= columns[i] / of
			}
		}
	}
	return inverse{n: v.n, apply: func(x ...[]float64) error {
		err := v.apply(x...)
		shorten(x)
		return err
	}, transposed: func(x ...[]float64) error {
		shorten(x)
		return v.transposed(x...)
	}}
}

// convertVectors calls f with the vectors in T, and copies the result back.
func convertVectors[T Element](vectors [][]float64, f func(x [][]T) error) error {
	if same, ok := any(vectors).([][]T); ok {
		return f(same)
	}
	x := make([][]T, len(vectors))
	for i, v := range vectors {
		x[i] = make([]T, len(v))
		for k, s := range v {
			x[i][k] = T(s)
		}
	}
	if err := f(x); err != nil {
		return err
	}
	for i, v := range vectors {
		for k, s := range x[i] {
			v[k] = float64(s)
		}
	}
	return nil
}

// solveAsMatrix returns a function that overwrites vectors as f overwrites the columns of a
// matrix in tiles of nb rows.
func solveAsMatrix[T Element](nb int, f func(x *blocked.Matrix[T]) error) func(x ...[]float64) error {
	return func(x ...[]float64) error {
		v := blocked.New[T](blocked.Full, len(x[0]), len(x), nb)
		for j, column := range x {
			for i, s := range column {
				v.Set(i, j, T(s))
			}
		}
		if err := f(v); err != nil {
			return err
		}
		for j, column := range x {
			for i := range column {
				column[i] = float64(v.At(i, j))
			}
		}
		return nil
	}
}

// triangularInverse returns op(A)⁻¹ for the condition estimators; A is the uplo triangle of a. If
// a is distributed, tasks on e solve, else a substitution.
func triangularInverse[T Element](ctx context.Context, e *Engine, uplo blas.Uplo, trans blas.Transpose,
	a *blocked.Matrix[T]) inverse {
	solve := func(trans blas.Transpose) func(x ...[]float64) error {
		if a.IsDistributed() {
			return solveAsMatrix(a.NB(), func(x *blocked.Matrix[T]) error {
				return engine.Run(ctx, e, func(p *blocked.Program[T]) error {
					return p.Trsm(blas.Left, uplo, trans, blas.NonUnit, 1, a, x)
				})
			})
		}
		s := newSubstitution[T](ctx, e)
		return func(x ...[]float64) error {
			return convertVectors(x, func(x [][]T) error { return s.solve(uplo, trans, blas.NonUnit, a, x) })
		}
	}
	return inverse{n: a.Dim(), apply: solve(trans), transposed: solve(scalar.Compose[T](trans, blas.Trans))}
}
