package la

import (
	"errors"
	"math"

	"github.com/tessera-la/tessera/blocked"
)

// maxRefinements is LAPACK's ITERMAX.
const maxRefinements = 30

// residualRounding is the multiple of ε·‖A‖∞·‖x‖∞ that rounding alone may leave as the residual
// of a small system, for the best x: (n+1) for an n×n system. LAPACK's √n is less, and rejects a
// tenth of random systems of order 1.
const residualRounding = 4

// solve computes dst = A⁻¹·b.
func (s *refiner) solve(dst Sink[float64], b Source[float64]) (Refinement, error) {
	nb, workers := s.a.NB(), s.engine.Options().Workers
	// The tiles of b are its own: dst may be b.
	right, stats := blocked.From(b, blocked.Full, nb, measuring(s.engine))
	var report Refinement
	if stats.NonFinite {
		report.Fallback = OutOfRange
	} else {
		near, exps := centredColumns(right, workers)
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
			return s.deliver(report, dst, x, right, nil)
		}
	}
	x, _ := blocked.From[float64](right, blocked.Full, nb, copying(s.engine))
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
	return s.deliver(report, dst, x, right, condition)
}

// deliver copies the solution x for b to dst, unless x overflows.
func (s *refiner) deliver(report Refinement, dst Sink[float64], x, b *blocked.Matrix[float64],
	condition error) (Refinement, error) {
	if err := inRange(s.ctx, s.engine, x, b); err != nil {
		return Refinement{}, err
	}
	x.CopyTo(dst, s.engine.Options().Workers)
	return report, condition
}

// refine returns A⁻¹·b, or nil if report says why refinement failed.
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

// iterate refines x, which is zero at first, until it is A⁻¹·b, and reports whether it is. If
// not, and without an error, report says why. r and d are scratch.
func (s *refiner) iterate(x, r *blocked.Matrix[float64], d *blocked.Matrix[float32], b *blocked.Matrix[float64],
	report *Refinement) (bool, error) {
	bTop, err := s.columnMax(b)
	if err != nil {
		return false, err
	}
	from, fromTop, former := b, bTop, math.Inf(1)
	for ; ; report.Iterations++ {
		// Residuals are far below b: without a scale float32 would lose them.
		up, down := powers(fromTop)
		if err := s.toSingle(d, from, down); err != nil {
			return false, err
		}
		if err := s.correct(d); err != nil {
			return false, err
		}
		if err := s.addSingle(x, d, up); err != nil {
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
		excess, report.BackwardError = s.assess(rTop, xTop, bTop)
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

// hopeless reports whether the residual will still be too large after left more refinements. It
// is too large by the factor excess, and was by former before the last refinement. The first
// refinement is not judged.
func hopeless(excess, former float64, done, left int) bool {
	if excess-excess != 0 {
		return true
	}
	return done > 1 && math.Log(excess)+float64(left)*math.Log(excess/former) > 0
}

// powers returns for each magnitude the power of two above it, and the inverse of that.
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
