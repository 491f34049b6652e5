package la

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// SolveSPDInPlace is [SolveSPD] on matrices whose tiles tasks use where they are, as those of
// distributed ones: it overwrites B, Full and in tiles of the size that those of A have, with
// the solution of A·X = B. A is of kind SymUpper, and is as it was. The nodes need the memory
// of half of A for the factor in float32.
//
// If it falls back, A is overwritten with its factor in float64, as by
// [Cholesky.FactorizeInPlace], and BackwardError is NaN.
//
// The error is a *ShapeError, or that of SolveSPD; B is then undefined, or after a finite
// mat.Condition a solution whose digits may all be wrong.
//
// Reference: LAPACK xDSPOSV.
func SolveSPDInPlace(ctx context.Context, e *Engine, a, b *blocked.Matrix[float64]) (Refinement, error) {
	if a.Kind() != blocked.SymUpper {
		return Refinement{}, &ShapeError{"SolveSPDInPlace", fmt.Sprintf("A is %v, want a SymUpper", a.Kind())}
	}
	s, end, err := inPlace(ctx, e, "SolveSPDInPlace", a, b)
	if err != nil || s == nil {
		return unsolved(err)
	}
	defer end()
	var single Cholesky[float32]
	var u *blocked.Matrix[float32]
	defer func() { closed(u) }()
	s.factor = func() (err error) {
		var stats *blocked.Sums[float32]
		if u, stats, err = s.single(); err != nil {
			return err
		}
		rt := s.engine.options().Runtime
		err = run(ctx, s.engine, func(p *blocked.Program[float64]) (err error) {
			s.diag, err = p.DistributedDiagonal(rt, a)
			return err
		})
		if err != nil {
			return err
		}
		if err := single.decompose(ctx, s.engine, &reading[float32]{a: u, stats: blocked.Stats{Norm: stats.Norm1(), Columns: stats.Columns(), Max: stats.Max()}}); err != nil {
			return err
		}
		return usable(u, s.n, 2, single.norm, single.inverse(ctx, s.engine))
	}
	defer func() {
		if s.diag != nil {
			s.diag.Close()
		}
	}()
	s.correct = func(d *blocked.Matrix[float32]) error { return single.solve(ctx, s.engine, d) }
	return s.solveInPlace(b, func() error {
		double := NewCholesky[float64](s.engine)
		if err := double.FactorizeInPlace(ctx, a); err != nil {
			return err
		}
		return double.SolveInPlace(ctx, b)
	})
}

// SolveGeneralInPlace is [SolveGeneral] as [SolveSPDInPlace] is SolveSPD: A is Full.
//
// Reference: LAPACK xDSGESV.
func SolveGeneralInPlace(ctx context.Context, e *Engine, a, b *blocked.Matrix[float64]) (Refinement, error) {
	if m, n := a.Dims(); a.Kind() != blocked.Full || m != n {
		return Refinement{}, &ShapeError{"SolveGeneralInPlace", fmt.Sprintf("A is %v, %d×%d, and must be Full and square", a.Kind(), m, n)}
	}
	s, end, err := inPlace(ctx, e, "SolveGeneralInPlace", a, b)
	if err != nil || s == nil {
		return unsolved(err)
	}
	defer end()
	single := &LU[float32]{engine: s.engine}
	var lu *blocked.Matrix[float32]
	defer func() { closed(lu) }()
	s.factor = func() (err error) {
		var stats *blocked.Sums[float32]
		if lu, stats, err = s.single(); err != nil {
			return err
		}
		return factorUsable(ctx, single, lu, s.n, stats.Columns())
	}
	s.correct = func(d *blocked.Matrix[float32]) error { return single.solve(ctx, blas.NoTrans, d) }
	return s.solveInPlace(b, func() error {
		double := NewLU[float64](s.engine)
		if err := double.FactorizeInPlace(ctx, a); err != nil {
			return err
		}
		return double.SolveInPlace(ctx, false, b)
	})
}

// inPlace returns what solves in place, nil if there is nothing to solve, until end is called.
func inPlace(ctx context.Context, e *Engine, op string, a, b *blocked.Matrix[float64]) (s *refiner, end func(), err error) {
	if err := solvable(op, a, b); err != nil {
		return nil, nil, err
	}
	e, end = e.session()
	n, nrhs := b.Dims()
	if err := e.ready(ctx); err != nil || n == 0 || nrhs == 0 {
		end()
		return nil, nil, err
	}
	return &refiner{ctx: ctx, engine: e, n: n, a: a, trans: blas.NoTrans, tasks: true}, end, nil
}

// single returns A in float32, with the sums of magnitudes of that, and sets norm. The error
// is errRange if an element is out of range.
func (s *refiner) single() (*blocked.Matrix[float32], *blocked.Sums[float32], error) {
	a := s.a
	u, err := tiles.DistributedLike[float32](s.engine.options().Runtime, a, a.Kind(), s.n, s.n)
	if err != nil {
		return nil, nil, err
	}
	err = run(s.ctx, s.engine, func(p *blocked.Program[float64]) error { return blocked.Lag2s(p, a, nil, u) })
	if err != nil {
		return u, nil, err
	}
	stats, err := sums(s.ctx, s.engine, u)
	if err != nil {
		return u, nil, err
	}
	if norm := stats.Norm1(); norm-norm != 0 {
		return u, nil, errRange
	}
	if s.norm = stats.NormInf(); s.norm < underflows {
		s.norm, err = NormInPlace(s.ctx, s.engine, a, lapack.MaxRowSum)
	}
	return u, stats, err
}

// solveInPlace overwrites b with A⁻¹·b, if need be by double.
func (s *refiner) solveInPlace(b *blocked.Matrix[float64], double func() error) (report Refinement, err error) {
	x, err := s.refine(b, &report)
	if err != nil {
		return Refinement{}, err
	}
	if x == nil {
		report.BackwardError = math.NaN()
		return report, double()
	}
	err = run(s.ctx, s.engine, func(p *blocked.Program[float64]) error { return p.CopyLeading(x, b) })
	if err = errors.Join(err, x.Close()); err != nil {
		return Refinement{}, err
	}
	return report, nil
}

// closed closes a, if it was made.
func closed[T Element](a *blocked.Matrix[T]) {
	if a != nil {
		a.Close()
	}
}

// like returns a matrix of zeros of the shape of b, where that is.
func like[T Element](s *refiner, b *blocked.Matrix[float64]) (*blocked.Matrix[T], error) {
	m, n := b.Dims()
	if !s.tasks {
		return blocked.New[T](blocked.Full, m, n, b.NB()), nil
	}
	return tiles.DistributedLike[T](s.engine.options().Runtime, b, blocked.Full, m, n)
}

// columnMax returns the largest magnitude in each column of a.
func (s *refiner) columnMax(a *blocked.Matrix[float64]) ([]float64, error) {
	if !s.tasks {
		return a.ColumnMax(s.engine.options().Workers), nil
	}
	var tops *blocked.Magnitudes[float64]
	err := run(s.ctx, s.engine, func(p *blocked.Program[float64]) (err error) {
		tops, err = p.ColumnMax(a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tops.Columns(), nil
}

// narrow computes d = a·diag(scale), in float32.
func (s *refiner) narrow(d *blocked.Matrix[float32], a *blocked.Matrix[float64], scale []float64) error {
	if !s.tasks {
		tiles.ScaleColumns(d, a, scale, false, s.engine.options().Workers)
		return nil
	}
	return run(s.ctx, s.engine, func(p *blocked.Program[float64]) error { return blocked.Lag2s(p, a, scale, d) })
}

// widen computes x = x + d·diag(scale).
func (s *refiner) widen(x *blocked.Matrix[float64], d *blocked.Matrix[float32], scale []float64) error {
	if !s.tasks {
		tiles.ScaleColumns(x, d, scale, true, s.engine.options().Workers)
		return nil
	}
	return run(s.ctx, s.engine, func(p *blocked.Program[float64]) error { return blocked.Lag2d(p, d, scale, true, x) })
}
