package la

import (
	"context"
	"errors"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// Refinement tells how a solver of mixed precision came by its solution.
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
	// NaN if the solution is not finite, and right also where the norm of A or a
	// product with it would overflow.
	BackwardError float64
}

// Fallback is why a solver of mixed precision did without.
type Fallback uint8

// The reasons.
const (
	// NoFallback: the solution is the refined one.
	NoFallback Fallback = iota
	// OutOfRange: an element of A or b is not finite, or one of A not in float32, or
	// A so small that its inverse is not.
	OutOfRange
	// NotFactored: in float32 A is not positive definite, or singular.
	NotFactored
	// NoConvergence: after 30 refinements the residual was still too large, or
	// it went down too slowly to get there.
	NoConvergence
)

func (f Fallback) String() string {
	return nameOf([]string{"none", "out of range", "not factored", "no convergence"}, uint8(f), "Fallback")
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

	// factor factors A in float32 and sets norm. It returns errRange,
	// *NotPositiveDefiniteError or *SingularError if that cannot be.
	factor func() error
	// correct overwrites d with A⁻¹·d in float32.
	correct func(d *blocked.Matrix[float32]) error
	// double returns A⁻¹·x in float64; x may be overwritten. With a finite
	// mat.Condition it returns the solution as well.
	double func(x *blocked.Matrix[float64]) (*blocked.Matrix[float64], error)
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
			x.CopyTo(dst, workers)
			return report, nil
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
	x.CopyTo(dst, workers)
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
	case errors.As(err, &npd), errors.As(err, &singular):
		report.Fallback = NotFactored
		return nil, nil
	case err != nil:
		return nil, err
	}
	workers := s.engine.options().Workers
	_, nrhs := b.Dims()
	x := blocked.New[float64](blocked.Full, s.n, nrhs, b.NB())
	r := blocked.New[float64](blocked.Full, s.n, nrhs, b.NB())
	d := blocked.New[float32](blocked.Full, s.n, nrhs, b.NB())
	bTop := b.ColumnMax(workers)
	from, former := b, math.Inf(1)
	for ; ; report.Iterations++ {
		// Residuals are far below b: without a scale float32 would lose them.
		up, down := powers(from.ColumnMax(workers))
		blocked.ScaleColumns(d, from, down, false, workers)
		if err := s.correct(d); err != nil {
			return nil, err
		}
		blocked.ScaleColumns(x, d, up, true, workers)
		if err := s.residual(r, b, x); err != nil {
			return nil, err
		}
		var excess float64
		excess, report.BackwardError = s.judge(r, x, bTop)
		if excess <= 1 {
			return x, nil
		}
		if left := maxRefinements - report.Iterations; left == 0 || hopeless(excess, former, report.Iterations, left) {
			switch {
			case excess*math.Sqrt(float64(s.n)) <= residualRounding:
				return x, nil
			case excess-excess != 0 && s.norm < underflows: // otherwise it diverges
				report.Fallback = OutOfRange
			default:
				report.Fallback = NoConvergence
			}
			return nil, nil
		}
		from, former = r, excess
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
	r.CopyFrom(b, s.engine.copying(false))
	mt, nt := r.Tiles()
	if mt == 1 && nt == 1 && goesDirect[float64](s.engine, OpGemm, s.n) {
		a := s.a
		if s.diag != nil {
			a = s.diag.Tile(0)
		}
		params := &kernels.Gemm{TransA: s.transA(), TransB: blas.NoTrans, Alpha: -1, Beta: 1}
		return direct(s.ctx, s.engine, kernels.For[float64](s.engine.ops()).Gemm, params, a.Tile(0, 0), x.Tile(0, 0), r.Tile(0, 0))
	}
	return run(s.ctx, s.engine, mt*mt*nt, func(p *blocked.Program[float64]) error {
		if s.diag != nil {
			return p.Symm(-1, s.a, s.diag, x, 1, r)
		}
		return p.Gemm(s.transA(), blas.NoTrans, -1, s.a, x, 1, r)
	})
}

func (s *refiner) transA() blas.Transpose { return compose(s.trans, blas.NoTrans) }

// judge returns by what factor the residual r of the worst column exceeds what
// LAPACK's rule allows, and the backward error. bTop is the largest magnitudes
// in the columns of b.
func (s *refiner) judge(r, x *blocked.Matrix[float64], bTop []float64) (excess, backward float64) {
	workers := s.engine.options().Workers
	limit := s.norm * epsilon[float64]() * math.Sqrt(float64(s.n))
	xTop := x.ColumnMax(workers)
	for j, rTop := range r.ColumnMax(workers) {
		if rTop == 0 {
			continue // also if x and b are zero
		}
		// Products, and quotients by limit, may be out of range.
		excess = max(excess, rTop/xTop[j]/limit)
		backward = max(backward, 1/(s.norm*(xTop[j]/rTop)+bTop[j]/rTop))
	}
	return excess, backward
}
