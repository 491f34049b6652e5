package la

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// newMatrix returns an m×n matrix in d's tile size, distributed if A is.
func (d *divisor[T]) newMatrix(e *Engine, kind blocked.Kind, m, n int) (*blocked.Matrix[T], error) {
	if d.distributed == nil {
		return blocked.New[T](kind, m, n, d.nb), nil
	}
	return tiles.DistributedLike[T](e.Options().Runtime, d.distributed, kind, m, n)
}

// load returns a copy of b in d's tile size, distributed if A is.
func (d *divisor[T]) load(ctx context.Context, e *Engine, b Source[T]) (*blocked.Matrix[T], error) {
	if d.distributed == nil {
		x, _ := blocked.From(b, blocked.Full, d.nb, copying(e))
		return x, nil
	}
	m, n := b.Dims()
	x, err := d.newMatrix(e, blocked.Full, m, n)
	if err == nil {
		err = scatter(ctx, e, x, b)
	}
	return x, err
}

// divisor is a square matrix A prepared for solutions: factored, or of a form that needs no
// factors.
type divisor[T Element] struct {
	report SolveReport

	nb          int                // tile size of what is divided
	distributed *blocked.Matrix[T] // A, if it is distributed; the factors and X then are as well
	end         func() error       // closes the factors; nil if there is nothing to close
	// solve overwrites x with A⁻¹·x, and transposed with A⁻ᵀ·x.
	solve, transposed func(x *blocked.Matrix[T]) error
	// condition returns a mat.Condition if A is singular to working precision.
	condition func() error
	// inverse, if not nil, overwrites a Full v with A⁻¹ in fewer flops than solve; symmetric
	// overwrites a SymLower v, with a TriLower w as scratch.
	inverse   func(v *blocked.Matrix[T]) error
	symmetric func(w, v *blocked.Matrix[T]) error
}

// close closes the factors.
func (d *divisor[T]) close() {
	if d.end != nil {
		d.end()
	}
}

// positiveDiagonal reports whether all diagonal elements of a are positive.
func positiveDiagonal[T Element](a *blocked.Matrix[T]) bool {
	for i := range a.Dim() {
		if !(a.At(i, i) > 0) {
			return false
		}
	}
	return true
}

// diagonalDivisor returns the divisor of a diagonal matrix.
func diagonalDivisor[T Element](a Source[T]) (divisor[T], error) {
	n, _ := a.Dims()
	diag := make([]T, n)
	for i := range diag {
		diag[i] = a.At(i, i)
	}
	d := divisor[T]{report: SolveReport{Method: MethodDiagonal}, nb: n}
	if err := checkDiagonal(diag); err != nil {
		return d, err
	}
	d.solve = func(x *blocked.Matrix[T]) error {
		for i, j := range x.StoredTiles() {
			t := x.Tile(i, j)
			for r := range t.Rows {
				row := t.Row(r)
				for c := range row {
					row[c] /= diag[i*x.NB()+r]
				}
			}
		}
		return nil
	}
	d.transposed = d.solve
	// A diagonal matrix is as well conditioned as its scaling: every element
	// of the solution is right.
	d.condition = func() error { return nil }
	return d, nil
}

// checkDiagonal returns a *NonFiniteError or a *SingularError if diag is not finite or has a
// zero.
func checkDiagonal[T Element](diag []T) error {
	for i, v := range diag {
		if v-v != 0 {
			return &NonFiniteError{Row: i, Col: i}
		}
	}
	for i, v := range diag {
		if v == 0 {
			return &SingularError{Column: i + 1, diagonal: true}
		}
	}
	return nil
}

// triangularDivisor returns the divisor of op(v), where v is triangular. upper says that v's
// upper triangle holds the elements.
func triangularDivisor[T Element](ctx context.Context, e *Engine, v *blocked.Matrix[T], trans blas.Transpose,
	upper bool) (divisor[T], error) {
	n := v.Dim()
	d := divisor[T]{report: SolveReport{Method: MethodTriangular}, nb: v.NB()}
	isDistributed := distributedOn[T](e, v) != nil
	top, err := largest(ctx, e, v, trans)
	if err != nil {
		return d, err
	}
	diag := make([]T, n)
	for i := range diag {
		diag[i] = v.At(i, i)
	}
	if err := checkDiagonal(diag); err != nil {
		return d, err
	}
	exp := scaleExponent[T](top)
	if exp != 0 {
		if v, d.end, err = scaledTriangle(ctx, e, v, -exp); err != nil {
			return d, err
		}
	}
	uplo := blas.Lower
	if upper {
		uplo = blas.Upper
	}
	substitute := func(trans blas.Transpose) func(x *blocked.Matrix[T]) error {
		return func(x *blocked.Matrix[T]) error {
			mt, _ := x.Tiles()
			_, nrhs := x.Dims()
			return withScaledColumns(ctx, e, x, exp, func() error {
				return execute(ctx, e, !isDistributed && engine.SolvesDirect[T](e, mt, n, nrhs), func(s *executor[T]) {
					s.trsm(uplo, trans, blas.NonUnit, v, x)
				})
			})
		}
	}
	d.solve, d.transposed = substitute(trans), substitute(scalar.Compose[T](trans, blas.Trans))
	d.condition = func() error {
		columns, err := columnSums(ctx, e, v, trans)
		if err != nil {
			return err
		}
		return checkCondition[T](newNorms(columns), triangularInverse(ctx, e, uplo, trans, v))
	}
	return d, nil
}

// columnSums returns the 1-norms of the columns of op(v).
func columnSums[T Element](ctx context.Context, e *Engine, v *blocked.Matrix[T], trans blas.Transpose) ([]float64,
	error) {
	byRows := trans != blas.NoTrans
	if distributedOn[T](e, v) == nil {
		if workers := e.Options().Workers; byRows {
			return v.RowSums(workers), nil
		} else {
			return v.ColumnSums(workers), nil
		}
	}
	s, err := sums(ctx, e, v)
	switch {
	case err != nil:
		return nil, err
	case byRows:
		return s.Rows(), nil
	}
	return s.Columns(), nil
}

// choleskyDivisor factors a and returns the divisor.
func choleskyDivisor[T Element](ctx context.Context, e *Engine, a SymmetricSource[T]) (divisor[T], error) {
	d := divisor[T]{report: SolveReport{Method: MethodCholesky}}
	c := &Cholesky[T]{engine: e}
	if err := c.factorize(ctx, a); err != nil {
		return d, err
	}
	return divisorOfCholesky(ctx, e, c), nil
}

// divisorOfCholesky returns the divisor of a factorization.
func divisorOfCholesky[T Element](ctx context.Context, e *Engine, c *Cholesky[T]) divisor[T] {
	d := divisor[T]{report: SolveReport{Method: MethodCholesky}, nb: c.u.NB()}
	d.solve = func(x *blocked.Matrix[T]) error { return c.solveOverwrite(ctx, e, x) }
	d.transposed = d.solve
	d.condition = func() error { return c.conditionError(ctx) }
	d.symmetric = func(w, v *blocked.Matrix[T]) error { return c.invert(ctx, e, w, v) }
	return d
}

// luDivisor factors a and returns the divisor.
func luDivisor[T Element](ctx context.Context, e *Engine, a Source[T]) (divisor[T], error) {
	d := divisor[T]{report: SolveReport{Method: MethodLU}}
	pool := kept[T]()
	f := pool.lu.Get().(*LU[T])
	f.engine = e
	d.end = func() error {
		f.Reset()
		f.engine = nil
		pool.lu.Put(f)
		return nil
	}
	if err := f.factorize(ctx, a); err != nil {
		return d, err
	}
	end := d.end
	d = divisorOfLU(ctx, f)
	d.end = end
	return d, nil
}

// divisorOfLU returns the divisor of a factorization.
func divisorOfLU[T Element](ctx context.Context, f *LU[T]) divisor[T] {
	d := divisor[T]{report: SolveReport{Method: MethodLU}, nb: f.lu.NB()}
	d.solve = func(x *blocked.Matrix[T]) error { return f.solveOverwrite(ctx, blas.NoTrans, x) }
	d.transposed = func(x *blocked.Matrix[T]) error { return f.solveOverwrite(ctx, blas.Trans, x) }
	d.condition = func() error { return f.conditionError(ctx) }
	d.inverse = func(v *blocked.Matrix[T]) error { return f.invert(ctx, v) }
	return d
}
