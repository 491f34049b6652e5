package la

import (
	"context"
	"errors"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Refinement tells how a solver of mixed precision came by its solution. Beside an error that leaves
// none Fallback is not NoFallback, and BackwardError means nothing.
type Refinement struct {
	// Iterations is the number of refinements of the solution in float32; 0 if
	// that was good enough. It is LAPACK's iter where that is not negative.
	Iterations int
	// Fallback says why the solution was computed in float64 instead, if it
	// was. Iterations is then the number of refinements made in vain.
	Fallback Fallback
	// BackwardError is the largest ‖b−A·x‖∞ / (‖A‖∞·‖x‖∞+‖b‖∞) of all
	// right-hand sides b, for the solution as it was returned: the smallest
	// relative change of A and b that makes it exact. A solution in float64 has
	// 10⁻¹⁶ or little more, unless it is so small that its digits are lost. It is
	// NaN if b is not finite, and right also where the norm of A or a
	// product with it would overflow.
	BackwardError float64
}

// Fallback is why a solver of mixed precision did without.
type Fallback uint8

// The reasons.
const (
	// UnknownFallback: there is no solution, and an error says why.
	UnknownFallback Fallback = iota
	// NoFallback: the solution is the refined one.
	NoFallback
	// OutOfRange: an element of A or b is not finite, or one of A not in float32, or
	// A so small that its inverse is not.
	OutOfRange
	// NotFactored: in float32 A is not positive definite, or singular to working precision.
	NotFactored
	// NoConvergence: after 30 refinements the residual was still too large, or
	// it went down too slowly to get there.
	NoConvergence
)

func (f Fallback) String() string {
	return nameOf([]string{"unknown", "none", "out of range", "not factored", "no convergence"}, uint8(f), "Fallback")
}

// maxRefinements is LAPACK's ITERMAX.
const maxRefinements = 30

// underflows is the norm in float32 below which one in float64 may differ,
// because elements vanish: those below 2⁻¹⁴⁹.
const underflows = 0x1p-100

// residualRounding is the multiple of ε·‖A‖∞·‖x‖∞ that the residual of a small
// system may come to by rounding alone, x being as good as it can be: of an n×n
// one, n+1. LAPACK's √n is less than that, and of a thousand random systems of
// order 1 it let a hundred fail.
const residualRounding = 4

// errRange is a factor's that cannot be computed in float32.
var errRange = errors.New("la: out of the range of float32")

// errDependent is a factor's in float32 that shows a matrix to be singular.
var errDependent = errors.New("la: singular in float32")

// refiner solves a square system by refinement. The functions are those of one
// kind of matrix.
type refiner struct {
	ctx    context.Context
	engine *Engine
	n      int
	a      *blocked.Matrix[float64]   // Full or symmetric
	trans  blas.Transpose             // of a Full a
	diag   *blocked.Diagonal[float64] // of a symmetric a
	norm   float64                    // ‖A‖∞
	tasks  bool                       // all is done by tasks: where the tiles of a are

	// factor factors A in float32 and sets norm. It returns errRange, errDependent,
	// *NotPositiveDefiniteError or *SingularError if that cannot be.
	factor func() error
	// correct overwrites d with A⁻¹·d in float32.
	correct func(d *blocked.Matrix[float32]) error
	// double returns A⁻¹·x in float64; x may be overwritten. With a finite
	// mat.Condition it returns the solution as well.
	double func(x *blocked.Matrix[float64]) (*blocked.Matrix[float64], error)
}

// unsolved is the report of a solver that had nothing to solve, or met an error before.
func unsolved(err error) (Refinement, error) {
	if err != nil {
		return Refinement{}, err
	}
	return Refinement{Fallback: NoFallback}, nil
}

// solve computes dst = A⁻¹·b.
func (s *refiner) solve(dst Sink[float64], b Source[float64]) (Refinement, error) {
	nb, workers := s.a.NB(), s.engine.options().Workers
	// The tiles of b are its own: dst may be b.
	right, stats := blocked.From(b, blocked.Full, nb, s.engine.copying(true))
	var report Refinement
	if stats.NonFinite {
		report.Fallback = OutOfRange
	} else {
		near, exps := centred(right, workers)
		x, err := s.refine(near, &report)
		if err != nil {
			return Refinement{}, err
		}
		if report.Fallback == NoFallback {
			if exps != nil {
				shiftColumns(x, x, exps, workers)
				if report.BackwardError, err = s.backwardError(right, x); err != nil {
					return Refinement{}, err
				}
			}
			return s.give(report, dst, x, right, nil)
		}
	}
	x, _ := blocked.From[float64](right, blocked.Full, nb, s.engine.copying(false))
	x, condition := s.double(x)
	if x == nil {
		return Refinement{}, condition
	}
	// dst may lie in the memory of A, so it is set when A has been read.
	x = retiled(x, nb, s.engine)
	var err error
	if report.BackwardError, err = s.backwardError(right, x); err != nil {
		return Refinement{}, err
	}
	return s.give(report, dst, x, right, condition)
}

// give copies the solution x for b to dst, unless it overflows.
func (s *refiner) give(report Refinement, dst Sink[float64], x, b *blocked.Matrix[float64], condition error) (Refinement, error) {
	if err := inRange(s.ctx, s.engine, x, b); err != nil {
		return Refinement{}, err
	}
	x.CopyTo(dst, s.engine.options().Workers)
	return report, condition
}

// refine returns A⁻¹·b, unless report says that it was not found.
func (s *refiner) refine(b *blocked.Matrix[float64], report *Refinement) (*blocked.Matrix[float64], error) {
	var npd *NotPositiveDefiniteError
	var singular *SingularError
	switch err := s.factor(); {
	case err == errRange:
		report.Fallback = OutOfRange
		return nil, nil
	case errors.As(err, &npd), errors.As(err, &singular), err == errDependent:
		report.Fallback = NotFactored
		return nil, nil
	case err != nil:
		return nil, err
	}
	x, err := like[float64](s, b)
	if err != nil {
		return nil, err
	}
	r, err := like[float64](s, b)
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	defer r.Close()
	d, err := like[float32](s, b)
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	defer d.Close()
	good, err := s.iterate(x, r, d, b, report)
	if !good {
		x.Close()
		return nil, err
	}
	report.Fallback = NoFallback
	return x, nil
}

// iterate refines x, which is zero, until it is A⁻¹·b, and reports whether it is; if not, and
// there is no error, report says why. r and d are scratch.
func (s *refiner) iterate(x, r *blocked.Matrix[float64], d *blocked.Matrix[float32], b *blocked.Matrix[float64], report *Refinement) (bool, error) {
	bTop, err := s.columnMax(b)
	if err != nil {
		return false, err
	}
	from, fromTop, former := b, bTop, math.Inf(1)
	for ; ; report.Iterations++ {
		// Residuals are far below b: without a scale float32 would lose them.
		up, down := powers(fromTop)
		if err := s.narrow(d, from, down); err != nil {
			return false, err
		}
		if err := s.correct(d); err != nil {
			return false, err
		}
		if err := s.widen(x, d, up); err != nil {
			return false, err
		}
		if err := s.residual(r, b, x); err != nil {
			return false, err
		}
		rTop, err := s.columnMax(r)
		if err != nil {
			return false, err
		}
		xTop, err := s.columnMax(x)
		if err != nil {
			return false, err
		}
		var excess float64
		excess, report.BackwardError = s.judge(rTop, xTop, bTop)
		if excess <= 1 {
			return true, nil
		}
		if left := maxRefinements - report.Iterations; left == 0 || hopeless(excess, former, report.Iterations, left) {
			switch {
			case excess*math.Sqrt(float64(s.n)) <= residualRounding:
				return true, nil
			case excess-excess != 0 && s.norm < underflows: // otherwise it diverges
				report.Fallback = OutOfRange
			default:
				report.Fallback = NoConvergence
			}
			return false, nil
		}
		from, fromTop, former = r, rTop, excess
	}
}

// hopeless reports whether the residual, which is too large by a factor excess
// and was so by former before the last refinement, will not be small enough
// after left more at that rate. The first refinement is not judged.
func hopeless(excess, former float64, done, left int) bool {
	if excess-excess != 0 {
		return true
	}
	return done > 1 && math.Log(excess)+float64(left)*math.Log(excess/former) > 0
}

// powers returns for each of the magnitudes the power of two next to it, and
// its inverse.
func powers(tops []float64) (up, down []float64) {
	up, down = make([]float64, len(tops)), make([]float64, len(tops))
	for j, v := range tops {
		exp := 0
		if v-v == 0 {
			_, exp = math.Frexp(v)
			exp = min(max(exp, -1000), 1000) // so that the inverse is in range
		}
		up[j], down[j] = math.Ldexp(1, exp), math.Ldexp(1, -exp)
	}
	return up, down
}

// residual computes r = b − A·x.
func (s *refiner) residual(r, b, x *blocked.Matrix[float64]) error {
	mt, nt := r.Tiles()
	if s.tasks {
		return run(s.ctx, s.engine, func(p *blocked.Program[float64]) error {
			if err := p.CopyLeading(b, r); err != nil {
				return err
			}
			return s.multiply(p, x, r)
		})
	}
	r.CopyFrom(b, s.engine.copying(false))
	if mt == 1 && nt == 1 && goesDirect[float64](s.engine, OpGemm, s.n) {
		a := s.a
		if s.diag != nil {
			a = s.diag.Tile(0)
		}
		params := &op.Gemm{TransA: s.transA(), TransB: blas.NoTrans, Alpha: -1, Beta: 1}
		return direct(s.ctx, s.engine, kernels.For[float64](s.engine.ops()).Op("gemm"), params, a.Tile(0, 0), x.Tile(0, 0), r.Tile(0, 0))
	}
	return run(s.ctx, s.engine, func(p *blocked.Program[float64]) error { return s.multiply(p, x, r) })
}

// multiply submits r = r − A·x.
func (s *refiner) multiply(p *blocked.Program[float64], x, r *blocked.Matrix[float64]) error {
	if s.diag != nil {
		return p.Symm(-1, s.a, s.diag, x, 1, r)
	}
	return p.Gemm(s.transA(), blas.NoTrans, -1, s.a, x, 1, r)
}

func (s *refiner) transA() blas.Transpose { return scalar.Compose[float64](s.trans, blas.NoTrans) }

// judge returns by what factor the residual of the worst column exceeds what LAPACK's rule
// allows, and the backward error, from the largest magnitudes in the columns of the residual,
// the solution and b.
func (s *refiner) judge(rTop, xTop, bTop []float64) (excess, backward float64) {
	limit := s.norm * epsilon[float64]() * math.Sqrt(float64(s.n))
	for j, r := range rTop {
		if r == 0 {
			continue // also if x and b are zero
		}
		// Products, and quotients by limit, may be out of range.
		excess = max(excess, r/xTop[j]/limit)
		backward = max(backward, 1/(s.norm*(xTop[j]/r)+bTop[j]/r))
	}
	return excess, backward
}
