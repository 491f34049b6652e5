package la

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/blocked/tiles"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// LU is the LU factorization of an m×n matrix,
//
//	A = P·L·U,
//
// after gonum's mat.LU: P is a permutation, L lower triangular (m×min(m, n))
// with ones on its diagonal, U upper triangular (min(m, n)×n). What solves,
// inverts or has a determinant needs m = n.
//
// The zero value is without a factorization, uses the default engine and pivots
// partially. An LU may be read from several goroutines at once.
type LU[T Element] struct {
	engine *Engine
	opt    LUOptions

	// lu holds U, and below its diagonal L; nil if there is no factorization.
	lu       *blocked.Matrix[T]
	pivots   *blocked.Pivots
	pivoting Pivoting // that the factorization was made with
	norm     norms    // of A
	exp      int      // lu is of A divided by two to this power
	top      float64  // largest magnitude of that

	// Memory of a former factorization.
	spare       *blocked.Matrix[T]
	sparePivots *blocked.Pivots
}

// NewLU returns an empty factorization with partial pivoting that computes on
// e.
func NewLU[T Element](e *Engine) *LU[T] { return &LU[T]{engine: e} }

// NewLUWith returns an empty factorization that computes on e with the options
// given. The error is that of [LUOptions.Validate].
func NewLUWith[T Element](e *Engine, opt LUOptions) (*LU[T], error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	return &LU[T]{engine: e, opt: opt}, nil
}

// Factorize computes the factorization of a, which is not changed; a former
// factorization is replaced and its memory used again.
//
// If there is a zero on the diagonal of U, the error is a *SingularError with
// LAPACK's value. The factorization is complete nevertheless: the methods that
// do not divide by the diagonal can be used. After any other error f is empty:
// a *NonFiniteError, a *BreakdownError if the pivoting asked for has broken down
// and [LUOptions.OnBreakdown] says so, an *exec.TaskError that names a version
// that has failed, or exec.ErrClosed.
//
// Reference: LAPACK xGETRF.
func (f *LU[T]) Factorize(a Source[T]) error {
	return f.FactorizeContext(context.Background(), a)
}

// FactorizeContext is Factorize in a context. When ctx ends it returns the
// cause as soon as the kernels that run have returned; f is then empty.
func (f *LU[T]) FactorizeContext(ctx context.Context, a Source[T]) error {
	top, err := f.factorizeUnscaled(ctx, a)
	exp := excess[T](top)
	if _, broken := errors.AsType[*BreakdownError](err); exp == 0 || f.lu == nil && !broken {
		return err
	}
	if _, err = f.factorizeUnscaled(ctx, scaled(f.engine, a, -exp)); f.lu != nil {
		f.exp = exp
	}
	return err
}

// factorizeUnscaled is FactorizeContext for a matrix that is in range. top is its largest magnitude,
// 0 if it was not read.
func (f *LU[T]) factorizeUnscaled(ctx context.Context, a Source[T]) (top float64, err error) {
	m, n := a.Dims()
	f.Reset()
	if err := f.engine.ready(ctx); err != nil {
		return 0, err
	}
	nb, one := f.TileSize(m, n)
	lu, pivots := f.spare, f.sparePivots
	if !fits(lu, m, n, nb) {
		lu, pivots = nil, blocked.NewPivots(m, n, nb)
	}
	r := read(f.engine, lu, a, blocked.Full, nb, one, true)
	lu = r.a
	f.spare, f.sparePivots = lu, pivots
	if err := r.refused(); err != nil {
		return 0, err
	}
	pivoting := f.opt.Pivoting
	if one {
		pivoting = PartialPivoting // in one tile all are the same
	}
	err = r.end(f.factorize(ctx, r, pivots, pivoting))
	if err == nil {
		err = f.broken(ctx, lu, pivots, pivoting, r.stats.Max)
	}
	if _, broken := err.(*BreakdownError); broken && (f.opt.OnBreakdown == FallBack || pivoting == TournamentPivoting) {
		pivoting = PartialPivoting
		lu.CopyFrom(a, f.engine.copying(false))
		err = f.factorize(ctx, r, pivots, pivoting)
	}
	if err != nil {
		return r.stats.Max, err
	}
	f.lu, f.pivots, f.spare, f.sparePivots = lu, pivots, nil, nil
	f.pivoting, f.norm, f.top = pivoting, newNorms(r.stats.Columns), r.stats.Max
	return f.top, f.singular()
}

// fits reports whether there is an a that is m×n in tiles of nb×nb.
func fits[T Element](a *blocked.Matrix[T], m, n, nb int) bool {
	if a == nil || a.NB() != nb {
		return false
	}
	r, c := a.Dims()
	return r == m && c == n
}

// factorize overwrites the matrix that r reads with its factorization.
func (f *LU[T]) factorize(ctx context.Context, r *reading[T], pivots *blocked.Pivots, pivoting Pivoting) error {
	lu := r.a
	mt, nt := lu.Tiles()
	switch {
	case mt == 0 || nt == 0:
		return nil
	case mt == 1 && nt == 1 && r.src == nil && !lu.IsDistributed():
		getrf := kernels.For[T](f.engine.ops()).Op("getrf")
		return direct(ctx, f.engine, getrf, &op.Getrf{}, lu.Tile(0, 0), pivots.Panel(0))
	}
	return run(ctx, f.engine, func(p *blocked.Program[T]) error {
		if err := r.submit(p); err != nil {
			return err
		}
		switch pivoting {
		case TournamentPivoting:
			return p.GetrfTournament(lu, pivots)
		case TilePivoting:
			return p.GetrfTile(lu, pivots)
		}
		return p.Getrf(lu, pivots)
	})
}

// broken returns a *BreakdownError if a factorization without partial pivoting,
// of a matrix whose largest magnitude is top, is of no use. The error may be another one if it
// is on other nodes.
func (f *LU[T]) broken(ctx context.Context, lu *blocked.Matrix[T], pivots *blocked.Pivots, pivoting Pivoting, top float64) error {
	m, n := lu.Dims()
	if mt, nt := lu.Tiles(); pivoting == PartialPivoting || mt == 0 || nt == 0 {
		return nil
	}
	limit := f.opt.GrowthLimit
	if limit == 0 {
		limit = 100 * float64(max(m, n))
	}
	if info := pivots.Info(); info != 0 {
		// In the last tile row there are no other rows that could have it.
		if pivoting == TournamentPivoting || (info-1)/lu.NB() < tiles.Count(m, lu.NB())-1 {
			return &BreakdownError{Column: info, Growth: math.Inf(1), Limit: limit}
		}
	}
	if top == 0 {
		return nil
	}
	growth := 0.0
	l, u, err := f.maxima(ctx, lu)
	if err != nil {
		return err
	}
	for k := range l {
		growth = max(growth, l[k]*(u[k]/top))
	}
	if !(growth <= limit) {
		return &BreakdownError{Growth: growth, Limit: limit}
	}
	return nil
}

// maxima returns the largest magnitudes in the tile columns of L and the tile rows of U.
func (f *LU[T]) maxima(ctx context.Context, lu *blocked.Matrix[T]) (l, u []float64, err error) {
	if !lu.IsDistributed() {
		l, u = blocked.FactorMaxima(lu, f.engine.options().Workers)
		return l, u, nil
	}
	var tops *blocked.Magnitudes[T]
	err = run(ctx, f.engine, func(p *blocked.Program[T]) (err error) {
		tops, err = p.ColumnMax(lu)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	l, u = tops.FactorMaxima()
	return l, u, nil
}

// valid panics with ErrNotFactorized if there is no factorization.
func (f *LU[T]) valid() {
	if f.lu == nil {
		panic(ErrNotFactorized)
	}
}

// order returns n. It panics with mat.ErrSquare if A is not n×n.
func (f *LU[T]) order() int {
	f.valid()
	m, n := f.lu.Dims()
	if m != n {
		panic(mat.ErrSquare)
	}
	return n
}

// singular returns a *SingularError if there is a zero on the diagonal of U.
func (f *LU[T]) singular() error {
	if info := f.pivots.Info(); info != 0 {
		return &SingularError{Column: info}
	}
	return nil
}

// IsEmpty reports whether f is without a factorization.
func (f *LU[T]) IsEmpty() bool { return f.lu == nil }

// Dims returns m and n. It panics with ErrNotFactorized, as all methods but
// Factorize, FactorizeContext, FactorizeCheckpoint, IsEmpty, Reset and Clone do,
// if there is no factorization.
func (f *LU[T]) Dims() (m, n int) {
	f.valid()
	return f.lu.Dims()
}

// Pivoting returns what the factorization was made with: what the options ask
// for, or PartialPivoting after a breakdown and for a problem that is given to
// one kernel.
func (f *LU[T]) Pivoting() Pivoting {
	f.valid()
	return f.pivoting
}

// Reset drops the factorization. Its memory is kept for the next one of the
// same size; to free it, drop f.
func (f *LU[T]) Reset() {
	if f.lu != nil {
		f.spare, f.sparePivots = f.lu, f.pivots
	}
	f.lu, f.pivots, f.norm, f.exp, f.top, f.pivoting = nil, nil, norms{}, 0, 0, 0
}

// Clone makes f a copy of src, on src's engine and with its options. It panics
// with ErrNotFactorized if src is without a factorization.
func (f *LU[T]) Clone(src *LU[T]) {
	src.valid()
	*f = LU[T]{engine: src.engine, opt: src.opt, lu: src.lu.Clone(), pivots: src.pivots.Clone(),
		pivoting: src.pivoting, norm: newNorms(src.norm.columns), exp: src.exp, top: src.top}
}

// Det returns the determinant of A: 0 if A is singular or the determinant
// underflows, an infinity if it overflows. It panics with mat.ErrSquare if A is
// not square.
func (f *LU[T]) Det() float64 {
	logAbs, sign := f.LogDet()
	if sign == 0 {
		return 0
	}
	return math.Exp(logAbs) * sign
}

// LogDet returns the logarithm of the magnitude of the determinant of A, and
// its sign, 1 or -1. The determinant of a singular matrix has logarithm -Inf
// and sign 0. LogDet panics with mat.ErrSquare if A is not square.
func (f *LU[T]) LogDet() (logAbs, sign float64) {
	n := f.order()
	sign = 1
	for i, r := range f.Swaps(nil) {
		if r != i {
			sign = -sign
		}
	}
	for i := range n {
		d := float64(f.lu.At(i, i))
		if d == 0 {
			return math.Inf(-1), 0
		}
		if d < 0 {
			sign = -sign
		}
		logAbs += math.Log(math.Abs(d))
	}
	return logAbs + float64(n*f.exp)*math.Ln2, sign
}

// Growth returns the growth factor of the factorization, the largest magnitude
// in U divided by that in A: the error of L·U grows with it. It is 1 for a
// matrix of zeros. Partial pivoting bounds it by 2ⁿ⁻¹; of matrices that occur it
// seldom exceeds √n (random ones) or 10. It is NaN if it cannot be computed because
// nodes with factors of a distributed matrix are lost.
//
// Reference: N. J. Higham, Accuracy and Stability of Numerical Algorithms,
// section 9.4.
func (f *LU[T]) Growth() float64 {
	f.valid()
	if f.top == 0 {
		return 1
	}
	_, u, err := f.maxima(context.Background(), f.lu)
	if err != nil {
		return math.NaN()
	}
	return slices.Max(u) / f.top
}

// Cond estimates the condition number of A in the 1-norm, ‖A‖₁·‖A⁻¹‖₁. The
// estimate is a lower bound, but for rounding, that is rarely below a third of
// the truth; +Inf if A is singular or one of the norms out of range. The first
// call costs a few solutions, on the engine; if they fail, as those of a closed
// engine do, it is NaN. It panics with mat.ErrSquare if A is not square.
//
// Reference: LAPACK xGECON, xLACN2; N. J. Higham, ACM TOMS 14 (1988).
func (f *LU[T]) Cond() float64 {
	if f.order() == 0 {
		return 0
	}
	if f.singular() != nil {
		return math.Inf(1)
	}
	k, err := cond[T](f.norm, f.inverse(context.Background()))
	if err != nil {
		return math.NaN()
	}
	return k
}

// inverse returns what solves with A for estimates.
func (f *LU[T]) inverse(ctx context.Context) inverse {
	if f.lu.IsDistributed() {
		solve := func(trans blas.Transpose) func(x ...[]float64) error {
			return onVectors(f.lu.NB(), func(x *blocked.Matrix[T]) error { return f.solve(ctx, trans, x) })
		}
		return inverse{n: f.order(), apply: solve(blas.NoTrans), transposed: solve(blas.Trans)}
	}
	s, swaps := newSubstitution[T](ctx, f.engine), f.Swaps(nil)
	return inverse{n: f.order(), apply: func(x ...[]float64) error {
		return inT(x, func(x [][]T) error {
			for _, x := range x {
				for i, r := range swaps {
					x[i], x[r] = x[r], x[i]
				}
			}
			if err := s.solve(blas.Lower, blas.NoTrans, blas.Unit, f.lu, x); err != nil {
				return err
			}
			return s.solve(blas.Upper, blas.NoTrans, blas.NonUnit, f.lu, x)
		})
	}, transposed: func(x ...[]float64) error {
		return inT(x, func(x [][]T) error {
			if err := s.solve(blas.Upper, blas.Trans, blas.NonUnit, f.lu, x); err != nil {
				return err
			}
			if err := s.solve(blas.Lower, blas.Trans, blas.Unit, f.lu, x); err != nil {
				return err
			}
			for _, x := range x {
				for i, r := range slices.Backward(swaps) {
					x[i], x[r] = x[r], x[i]
				}
			}
			return nil
		})
	}}
}

// conditionError returns a *SingularError, a mat.Condition if A is singular to working precision,
// or an error of the solutions that tell.
func (f *LU[T]) conditionError(ctx context.Context) error {
	if err := f.singular(); err != nil {
		return err
	}
	return nearSingular(f.lu, f.order(), 1, false, func() error { return judge[T](f.norm, f.inverse(ctx)) })
}

// check returns a *ShapeError if A is not square.
func (f *LU[T]) check(op string) error {
	f.valid()
	if m, n := f.lu.Dims(); m != n {
		return &ShapeError{op, fmt.Sprintf("A is %d×%d, and must be square", m, n)}
	}
	return nil
}
