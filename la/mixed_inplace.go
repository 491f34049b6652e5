package la

import (
	"context"
	"errors"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// solveSPDInPlace is SolveSPD with tasks on the tiles of its operands.
func solveSPDInPlace(ctx context.Context, e *Engine, dst Destination[float64], in SymmetricSource[float64],
	to Source[float64]) (Refinement, error) {
	a, err := tilesInPlace[float64]("SolveSPD", "A", in, blocked.SymUpper, "a SymUpper")
	if err != nil {
		return Refinement{}, err
	}
	s, b, end, err := inPlace(ctx, e, "SolveSPD", a, dst, to)
	if err != nil || s == nil {
		return unsolved(err)
	}
	defer end()
	var single Cholesky[float32]
	var u *blocked.Matrix[float32]
	defer func() { closeMatrix(u) }()
	s.factor = func() (err error) {
		var stats *blocked.Sums[float32]
		if u, stats, err = s.single(); err != nil {
			return err
		}
		rt := s.engine.Options().Runtime
		err = engine.Run(ctx, s.engine, func(p *blocked.Program[float64]) (err error) {
			s.diag, err = p.DistributedDiagonal(rt, a)
			return err
		})
		if err != nil {
			return err
		}
		if err := single.decompose(ctx, s.engine, &reading[float32]{a: u, stats: stats.Stats()}); err != nil {
			return err
		}
		return checkFloat32Factors(u, s.n, 2, single.norm, single.inverse(ctx, s.engine))
	}
	defer func() {
		if s.diag != nil {
			s.diag.Close()
		}
	}()
	s.correct = func(d *blocked.Matrix[float32]) error { return single.solve(ctx, s.engine, d) }
	return s.solveInPlace(b, func() error {
		double := NewCholesky[float64](s.engine)
		if err := double.factorizeInPlace(ctx, a, nil); err != nil {
			return err
		}
		return double.solveInPlace(ctx, b, b)
	})
}

// solveGeneralInPlace is SolveGeneral with tasks on the tiles of its operands.
func solveGeneralInPlace(ctx context.Context, e *Engine, dst Destination[float64], in,
	to Source[float64]) (Refinement, error) {
	a, err := tilesInPlace("SolveGeneral", "A", in, blocked.Full, "a Full one")
	if err != nil {
		return Refinement{}, err
	}
	s, b, end, err := inPlace(ctx, e, "SolveGeneral", a, dst, to)
	if err != nil || s == nil {
		return unsolved(err)
	}
	defer end()
	single := &LU[float32]{engine: s.engine}
	var lu *blocked.Matrix[float32]
	defer func() { closeMatrix(lu) }()
	s.factor = func() (err error) {
		var stats *blocked.Sums[float32]
		if lu, stats, err = s.single(); err != nil {
			return err
		}
		return factorizeFloat32(ctx, single, lu, s.n, stats.Columns())
	}
	s.correct = func(d *blocked.Matrix[float32]) error { return single.solve(ctx, blas.NoTrans, d) }
	return s.solveInPlace(b, func() error {
		double := NewLU[float64](s.engine)
		if err := double.factorizeInPlace(ctx, a, nil); err != nil {
			return err
		}
		return double.solveInPlace(ctx, b, false, b)
	})
}

// inPlace returns the refiner of A·X = B for the named function, nil if there is nothing to solve, and B; the caller calls
// end after its use.
func inPlace(ctx context.Context, e *Engine, name string, a *blocked.Matrix[float64], dst Destination[float64],
	to Source[float64]) (s *refiner, b *blocked.Matrix[float64], end func(), err error) {
	if b, err = rightSideInPlace(name, a, dst, to); err != nil {
		return nil, nil, nil, err
	}
	e, end = e.Session()
	n, nrhs := b.Dims()
	if err := e.Ready(ctx); err != nil || n == 0 || nrhs == 0 {
		end()
		return nil, nil, nil, err
	}
	return &refiner{ctx: ctx, engine: e, n: n, a: a, trans: blas.NoTrans, tasks: true}, b, end, nil
}

// single returns A in float32 with its sums of magnitudes, and sets norm. The error is errRange
// if an element is out of range; the matrix may then not be nil.
func (s *refiner) single() (*blocked.Matrix[float32], *blocked.Sums[float32], error) {
	a := s.a
	u, err := tiles.DistributedLike[float32](s.engine.Options().Runtime, a, a.Kind(), s.n, s.n)
	if err != nil {
		return nil, nil, err
	}
	err = engine.Run(s.ctx, s.engine, func(p *blocked.Program[float64]) error { return blocked.Lag2s(p, a, nil, u) })
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

// solveInPlace overwrites b with A⁻¹·b. If refinement fails it calls double.
func (s *refiner) solveInPlace(b *blocked.Matrix[float64], double func() error) (report Refinement, err error) {
	x, err := s.refine(b, &report)
	if err != nil {
		return Refinement{}, err
	}
	if x == nil {
		report.BackwardError = math.NaN()
		return report, double()
	}
	err = engine.Run(s.ctx, s.engine, func(p *blocked.Program[float64]) error { return p.CopyLeading(x, b) })
	if err = errors.Join(err, x.Close()); err != nil {
		return Refinement{}, err
	}
	return report, nil
}
