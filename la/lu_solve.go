package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// SolveTo solves
//
//	A·X = B, or Aᵀ·X = B if trans,
//
// for X, dst = X, where A is n×n and B n×nrhs. dst may be b; an empty
// *mat.Dense takes the shape of b.
//
// The error is a *ShapeError, a *SingularError if there is a zero on the
// diagonal of U (dst is then as it was), or a mat.Condition if already the
// diagonal shows that A is singular to working precision; dst then holds a
// solution whose digits may all be wrong, unless the condition is +Inf because U
// is out of range: dst is then as it was, too, but for the shape. For an estimate
// of the condition number see [LU.Cond]. Otherwise it is an *exec.TaskError that names a version
// that has failed, or exec.ErrClosed; dst is then as it was, but for the shape.
// SolveTo panics with ErrNotFactorized if there is no factorization.
//
// Reference: LAPACK xGETRS.
func (f *LU[T]) SolveTo(dst Sink[T], trans bool, b Source[T]) error {
	if err := f.check("SolveTo"); err != nil {
		return err
	}
	n := f.order()
	m, nrhs := b.Dims()
	if m != n {
		return &ShapeError{"SolveTo", fmt.Sprintf("A is %d×%d and b %d×%d", n, n, m, nrhs)}
	}
	if err := f.singular(); err != nil {
		return err
	}
	shape[T](dst, m, nrhs)
	if r, s := dst.Dims(); r != m || s != nrhs {
		return &ShapeError{"SolveTo", fmt.Sprintf("the solution is %d×%d and dst %d×%d", m, nrhs, r, s)}
	}
	if m == 0 || nrhs == 0 {
		return nil
	}
	condition := f.conditionError()
	if unsolvable(condition) {
		return condition
	}
	workers := f.engine.options().Workers
	x, _ := blocked.From(b, blocked.Full, f.lu.NB(), blocked.CopyOptions{Workers: workers})
	if err := f.solve(context.Background(), transpose(trans), x); err != nil {
		return err
	}
	x.CopyTo(dst, workers)
	return condition
}

// transpose returns the constant that trans stands for.
func transpose(trans bool) blas.Transpose {
	if trans {
		return blas.Trans
	}
	return blas.NoTrans
}

// SolveVecTo solves A·x = b, or Aᵀ·x = b if trans, for one right-hand side,
// dst = x, as SolveTo does.
func (f *LU[T]) SolveVecTo(dst VectorSink[T], trans bool, b VectorSource[T]) error {
	if err := f.check("SolveVecTo"); err != nil {
		return err
	}
	n := f.order()
	if err := f.singular(); err != nil && b.Len() == n {
		return err // dst does not get its shape
	}
	return solveVector("A", n, n, dst, b, func(dst Sink[T], b Source[T]) error { return f.SolveTo(dst, trans, b) })
}

// solve overwrites x with op(A)⁻¹·x.
func (f *LU[T]) solve(ctx context.Context, trans blas.Transpose, x *blocked.Matrix[T]) error {
	mt, nt := x.Tiles()
	n, nrhs := x.Dims()
	if solvesDirect[T](f.engine, mt, n, nrhs) {
		for j := range nt {
			if err := f.solveDirect(ctx, trans, x.Tile(0, j)); err != nil {
				return err
			}
		}
		return nil
	}
	return run(ctx, f.engine, mt*(mt+2)*nt, func(p *blocked.Program[T]) error {
		return p.Getrs(trans, f.lu, f.pivots, x)
	})
}

// solveDirect is Getrs for an A of one tile.
func (f *LU[T]) solveDirect(ctx context.Context, trans blas.Transpose, x *blocked.Tile[T]) error {
	ops := kernels.For[T](f.engine.ops())
	a, pivots := f.lu.Tile(0, 0), f.pivots.Panel(0)
	lower := &kernels.Trsm{Side: blas.Left, Uplo: blas.Lower, Trans: trans, Diag: blas.Unit, Alpha: 1}
	upper := &kernels.Trsm{Side: blas.Left, Uplo: blas.Upper, Trans: trans, Diag: blas.NonUnit, Alpha: 1}
	if trans == blas.NoTrans {
		if err := direct(ctx, f.engine, ops.Laswp, &kernels.Laswp{}, pivots, x); err != nil {
			return err
		}
		if err := direct(ctx, f.engine, ops.Trsm, lower, a, x); err != nil {
			return err
		}
		return direct(ctx, f.engine, ops.Trsm, upper, a, x)
	}
	if err := direct(ctx, f.engine, ops.Trsm, upper, a, x); err != nil {
		return err
	}
	if err := direct(ctx, f.engine, ops.Trsm, lower, a, x); err != nil {
		return err
	}
	return direct(ctx, f.engine, ops.Laswp, &kernels.Laswp{Inverse: true}, pivots, x)
}

// InverseTo computes dst = A⁻¹. An empty *mat.Dense takes the shape of A.
// Solving with A is cheaper and more accurate than multiplying by its inverse.
//
// The errors and the panic are those of SolveTo, but when a version has failed
// or the engine was closed, dst is undefined.
//
// Reference: LAPACK xGETRI.
func (f *LU[T]) InverseTo(dst Sink[T]) error {
	if err := f.check("InverseTo"); err != nil {
		return err
	}
	n, nb := f.order(), f.lu.NB()
	if err := f.singular(); err != nil {
		return err
	}
	shape[T](dst, n, n)
	if r, s := dst.Dims(); r != n || s != n {
		return &ShapeError{"InverseTo", fmt.Sprintf("the inverse is %d×%d and dst %d×%d", n, n, r, s)}
	}
	if n == 0 {
		return nil
	}
	condition := f.conditionError()
	if unsolvable(condition) {
		return condition
	}
	v, _, back := writable(dst, nb, false, f.engine.options().Workers)
	if err := f.invert(context.Background(), v); err != nil {
		return err
	}
	back()
	return condition
}

// invert writes A⁻¹ to the Full v, n×n in the tile size of the factors.
func (f *LU[T]) invert(ctx context.Context, v *blocked.Matrix[T]) error {
	n := f.order()
	if t := tiles(n, f.lu.NB()); t > 1 || !goesDirect[T](f.engine, OpLU, n) {
		return run(ctx, f.engine, t*(t+1)*(2*t+1)/3+2*t*t, func(p *blocked.Program[T]) error {
			return p.Getri(f.lu, f.pivots, v)
		})
	}
	v.SetIdentity()
	return f.solveDirect(ctx, blas.NoTrans, v.Tile(0, 0))
}
