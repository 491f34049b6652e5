package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// SolveSPD solves A·X = B for a symmetric positive definite n×n matrix A, dst = X, where B is
// n×nrhs. It factors A by Cholesky in float32, in half the time of float64, and refines the
// solution in float64:
//
//	r = b − A·x,  x = x + A⁻¹·r,
//
// until ‖r‖∞ ≤ √n·ε·‖A‖∞·‖x‖∞ with ε = 2⁻⁵³ for every right-hand side. If that fails, as for
// condition numbers above about 10⁷, it falls back to float64 and says so; the time of the
// attempt is then lost. The solution is as good as that of [Cholesky] in either case.
//
// A is read as by [Cholesky.Factorize]. dst may share memory with A and B; an empty *mat.Dense
// takes the shape of B. The solver needs memory of a quarter of A, or of half of A if it falls
// back.
//
// The error is one of:
//   - a *ShapeError;
//   - a *NonFiniteError for A, or a *NotPositiveDefiniteError, both found in float64;
//   - an *OverflowError if B is finite and the solution is not;
//   - a mat.Condition as of [Cholesky.SolveTo]: dst is set if it is finite;
//   - the cause of the context's end, an *exec.TaskError that names the version that failed, or
//     exec.ErrClosed.
//
// But for the finite mat.Condition an error leaves dst unchanged, except for its shape.
//
// The option is [InPlace], for matrices that tasks use where they are, such as distributed ones: A is a
// *blocked.Matrix of kind SymUpper, and dst and b are the same one, Full and in the tile size of A. A does not change,
// but after a fallback it holds its factor in float64, as after [Cholesky.Factorize] in place, and BackwardError is NaN.
// The nodes need memory of half of A for the factor in float32. There is no *OverflowError then, and after another error
// dst is undefined, or after a finite mat.Condition a solution whose digits may all be wrong.
//
// Reference: LAPACK xDSPOSV; N. J. Higham, Accuracy and Stability of Numerical Algorithms,
// chapter 12.
func SolveSPD(ctx context.Context, e *Engine, dst Destination[float64], a SymmetricSource[float64],
	b Source[float64], opts ...CallOption) (Refinement, error) {
	o, err := optionsIn(ctx, "SolveSPD", takesInPlace, opts)
	switch {
	case err != nil:
		return Refinement{}, err
	case o.inPlace:
		return solveSPDInPlace(ctx, e, dst, a, b)
	}
	n := a.SymmetricDim()
	to, e, end, err := beginSystem(ctx, e, "SolveSPD", n, n, dst, b)
	if err != nil || to == nil {
		return unsolved(err)
	}
	defer end()
	nb, _ := engine.TileSize[float32](e, engine.OpCholesky, n, n)
	half := blocked.SymUpper
	if m, ok := any(a).(*blocked.Matrix[float64]); ok && m.Kind() == blocked.TriLower {
		half = blocked.SymLower // all that is stored
		a, _ = blocked.From[float64](m, half, nb, copying(e))
	}
	v, _, ok := tiles.ViewOf[float64](a, nb)
	if !ok || !v.Kind().Symmetric() {
		v, _ = blocked.From[float64](a, half, nb, copying(e))
	}
	s := &refiner{ctx: ctx, engine: e, n: n, a: v, diag: blocked.NewDiagonal(v, e.Options().Workers)}
	var single Cholesky[float32]
	s.factor = func() error {
		u, stats := tiles.Convert[float32](blocked.Source[float64](v), blocked.SymUpper, nb, measuring(e))
		if stats.NonFinite {
			return errRange
		}
		s.norm = stats.Norm
		if s.norm < underflows {
			s.norm = v.Norm(lapack.MaxRowSum, e.Options().Workers)
		}
		if err := single.decompose(ctx, e, &reading[float32]{a: u, stats: stats}); err != nil {
			return err
		}
		return checkFloat32Factors(single.u, n, 2, single.norm, single.inverse(ctx, e))
	}
	s.correct = func(d *blocked.Matrix[float32]) error { return single.solve(ctx, e, d) }
	s.double = func(x *blocked.Matrix[float64]) (*blocked.Matrix[float64], error) {
		single = Cholesky[float32]{} // the memory
		double := Cholesky[float64]{engine: e}
		if err := double.factorize(ctx, v); err != nil {
			return nil, err
		}
		x = retiled(x, double.u.NB(), e)
		if err := double.solveOverwrite(ctx, e, x); err != nil {
			return nil, err
		}
		condition := double.conditionError(ctx)
		if noSolution(condition) {
			return nil, condition
		}
		return x, condition
	}
	return s.solve(to, b)
}

// SolveGeneral solves A·X = B for an n×n matrix A, dst = X, as [SolveSPD] does, by an LU
// factorization with partial pivoting in float32 and refinement in float64. The solution is as
// good as that of [LU]. For a positive definite A SolveSPD takes half the time.
//
// dst may share memory with A and B; an empty *mat.Dense takes the shape of B. The solver needs
// memory of half of A, or of all of A if it falls back or A is not in memory.
//
// The error is a *ShapeError; a *NonFiniteError for A, or a *SingularError, both found in
// float64; or else that of SolveSPD.
//
// The option is [InPlace], as of SolveSPD; A is then Full.
//
// Reference: LAPACK xDSGESV.
func SolveGeneral(ctx context.Context, e *Engine, dst Destination[float64], a, b Source[float64],
	opts ...CallOption) (Refinement, error) {
	o, err := optionsIn(ctx, "SolveGeneral", takesInPlace, opts)
	if err != nil {
		return Refinement{}, err
	}
	n, cols := a.Dims()
	if n != cols {
		return Refinement{}, &ShapeError{"SolveGeneral", fmt.Sprintf("A is %d×%d, and must be square", n, cols)}
	}
	if o.inPlace {
		return solveGeneralInPlace(ctx, e, dst, a, b)
	}
	to, e, end, err := beginSystem(ctx, e, "SolveGeneral", n, n, dst, b)
	if err != nil || to == nil {
		return unsolved(err)
	}
	defer end()
	nb, _ := engine.TileSize[float32](e, engine.OpLU, n, n)
	v, trans := readable(a, blas.NoTrans, nb, nil, e.Options().Workers)
	s := &refiner{ctx: ctx, engine: e, n: n, a: v, trans: trans}
	single := &LU[float32]{engine: e}
	s.factor = func() error {
		lu, stats := tiles.Convert[float32](a, blocked.Full, nb, measuring(e))
		if stats.NonFinite {
			return errRange
		}
		s.norm = lu.Norm(lapack.MaxRowSum, e.Options().Workers)
		if s.norm < underflows {
			s.norm = v.Norm(infinityNorm(trans), e.Options().Workers)
		}
		return factorizeFloat32(ctx, single, lu, n, stats.Columns)
	}
	s.correct = func(d *blocked.Matrix[float32]) error { return single.solve(ctx, blas.NoTrans, d) }
	s.double = func(x *blocked.Matrix[float64]) (*blocked.Matrix[float64], error) {
		single = nil // the memory
		double := &LU[float64]{engine: e}
		if err := double.factorize(ctx, a); err != nil {
			return nil, err
		}
		condition := double.conditionError(ctx)
		if noSolution(condition) {
			return nil, condition
		}
		x = retiled(x, double.lu.NB(), e)
		if err := double.solveOverwrite(ctx, blas.NoTrans, x); err != nil {
			return nil, err
		}
		return x, condition
	}
	return s.solve(to, b)
}
