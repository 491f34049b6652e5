package krylov

import (
	"cmp"
	"context"
	"math"

	"github.com/tessera-la/tessera/internal/problems"
)

// MINRESOptions configures [MINRES]. The zero value means the defaults.
type MINRESOptions struct {
	// Tolerance ends the iteration when ‖b − A·x‖ ≤ Tolerance·‖b‖; 0 means 1e-10.
	Tolerance float64
	// ATol ends the iteration with a least-squares solution when ‖A·r‖ ≤ ATol·‖A‖·‖r‖ for r = b − A·x; 0 means
	// 1e-8. Only a singular A has such a solution, but with an ATol above 1/κ(A) others seem to have. With one much
	// below 1e-8 rounding hides the solution, and x grows without bounds.
	ATol float64
	// MaxIterations is the largest number of iterations; 0 means 10·n, but at least 100.
	MaxIterations int
	// Observe, if not nil, is called after each iteration with the norm of its residual.
	Observe func(iteration int, residual float64)
	// Preconditioner, if not nil, is a symmetric positive definite M. A may be indefinite, and M resembles A
	// without its signs.
	Preconditioner Preconditioner
}

// MINRESResult describes a run of [MINRES]. Gradient, NormA and Condition are estimates from the recurrences;
// with a preconditioner M they are those of M^(−1/2)·A·M^(−1/2).
type MINRESResult struct {
	Iterations int
	Stop       Stop
	Residual   float64 // ‖b − A·x‖, computed from x if Stop is StopConsistent; NaN if an error came before the first residual
	Gradient   float64 // ‖A·r‖/(‖A‖·‖r‖) before the last iteration
	NormA      float64 // the Frobenius norm of A on the directions so far
	Condition  float64
}

// MINRES solves
//
//	A·x = b
//
// for an n×n symmetric A, which may be indefinite, by the method of minimal residuals. b and x have n elements.
// MINRES begins with the given x, usually zeros, and overwrites it. It needs one product in each iteration. It
// uses six vectors of n elements besides x and b, eight with a preconditioner, and two more if elements of A or
// b are near the ends of the range of float64. MINRES does not notice that A is not symmetric: then it does not
// converge.
//
// The residual never grows, without a preconditioner. If A is singular and b is not in its range, MINRES
// minimizes the residual and says so by [StopLeastSquares]. The rule for the end looks at b − A·x, as in [CG],
// also with a preconditioner. At the end MINRES computes b − A·x, and powers of two do not change the bits.
//
// The error is a *[la.ShapeError] or an *[OptionsError]; an *[IndefiniteError] of the preconditioner or a
// *[NonFiniteError]; a *[ConvergenceError] after MaxIterations, or when the condition exceeds 4·10¹⁴; the cause
// of the end of ctx; or that of the operator. Except with the first two, x is that of the last iteration. If a
// [Keeper] fails, x may be unchanged. MINRES panics with [ErrOverlap] if x and b begin at the same element.
//
// Reference: Paige and Saunders, Solution of Sparse Indefinite Systems of Linear Equations, SIAM J. Numer.
// Anal. 12, 1975.
func MINRES(ctx context.Context, a Operator, x, b []float64, opt MINRESOptions) (s MINRESResult, err error) {
	var bad problems.List
	bad.Check(opt.ATol >= 0 && !math.IsInf(opt.ATol, 1), "ATol is %v, want at least 0, and finite", opt.ATol)
	common := options{opt.Tolerance, opt.MaxIterations, opt.Observe, opt.Preconditioner}
	s.Stop = StopZero // unless it begins
	result, err := solveSystem(ctx, "MINRES", a, x, b, common, bad, func(y *system) error {
		s.Stop = StopConsistent
		m := minresRun{system: y, atol: cmp.Or(opt.ATol, 1e-8), minres: &s}
		m.first = y.r
		for _, v := range [...]*Vector{&m.spare, &m.v, &m.w[0], &m.w[1]} {
			*v = y.New(y.n)
		}
		if y.solve != nil {
			m.first, m.z = y.New(y.n), y.New(y.n)
		}
		return y.cycles(func(_, rr float64) (float64, error) { return m.cycle(ctx, rr) })
	})
	switch {
	case err == errLeastSquares:
		s.Stop, err = StopLeastSquares, nil
	case err != nil:
		s.Stop = StopNone
	}
	s.Iterations, s.Residual = result.Iterations, result.Residual
	return s, err
}

// errLeastSquares ends the iteration with a least-squares solution.
const errLeastSquares Error = "krylov: a least-squares solution"

// minresRun is the state of MINRES.
type minresRun struct {
	*system
	first, spare Vector    // beside q: the last three r of the process
	z            Vector    // M⁻¹·r
	v            Vector    // M⁻¹·r/β
	w            [2]Vector // the last two directions in which x changes
	atol         float64
	minres       *MINRESResult
}

// lanczos is the state of the Lanczos process, whose vectors are r/β.
type lanczos struct {
	r1, r2, q    Vector  // the r before the last, the last, and memory for the next
	z            Vector  // M⁻¹·r2
	before, beta float64 // β of the last two; before is 0 at first
	scale        float64 // of M. With 2ʲ·M and an odd j, the square root of rᵀ·M⁻¹·r has other digits: scale makes j even
}

// begin begins the process with r, for a known rᵀ·r.
func (m *minresRun) begin(rr float64) (l lanczos, err error) {
	if m.solve != nil {
		m.Axpby(1, m.r, 0, m.first)
	}
	l = lanczos{r1: m.spare, r2: m.first, q: m.q, scale: 1}
	if l.z, l.beta, err = m.precondition(l.r2, rr); err != nil || m.solve == nil {
		return l, err
	}
	if _, exp := math.Frexp(l.beta); exp&1 != 0 {
		l.scale = 0.5
	}
	if l.beta = math.Sqrt(l.beta * l.scale); l.beta == 0 {
		err = &IndefiniteError{m.result.Iterations, 0, true, m.method}
	}
	return l, err
}

// precondition returns z = M⁻¹·r, and rᵀ·z for a known rᵀ·r. Without a preconditioner it returns r and ‖r‖.
func (m *minresRun) precondition(r Vector, rr float64) (z Vector, beta float64, err error) {
	if m.solve == nil {
		beta, err = root(m.Vectors, r, rr)
		return r, beta, err
	}
	if err := m.solve(m.z, r); err != nil {
		return m.z, 0, err
	}
	rz, err := m.Dot(r, m.z, 1)
	if err == nil && rz < 0 {
		rr, err := m.Dot(r, r, 1)
		return m.z, 0, cmp.Or(err, error(&IndefiniteError{m.result.Iterations, math.Ldexp(rz/rr, m.expM), true, m.method}))
	}
	return m.z, rz, err
}

// step does the next step of the process and returns α = vᵀ·A·v.
func (m *minresRun) step(l *lanczos) (alpha float64, err error) {
	m.Axpby(l.scale/l.beta, l.z, 0, m.v)
	if l.before == 0 {
		alpha, err = mulVecDot(m.Vectors, l.q, m.v)
	} else if err = m.MulVecTo(l.q, false, m.v); err == nil {
		alpha, err = axpbyDot(m.Vectors, -l.beta/l.before, l.r1, 1, l.q, m.v)
	}
	if err != nil {
		return 0, err
	}
	m.result.Iterations++
	rr, err := axpbyDot(m.Vectors, -alpha/l.beta, l.r2, 1, l.q, l.q)
	if err != nil {
		return 0, err
	}
	l.r1, l.r2, l.q = l.r2, l.q, l.r1
	l.before = l.beta
	if l.z, l.beta, err = m.precondition(l.r2, rr); m.solve != nil {
		l.beta = math.Sqrt(l.beta * l.scale)
	}
	return alpha, err
}

// cycle runs the iteration from r = b − A·x until the residual is small enough, or an error. Its names are those
// of Paige and Saunders' program.
func (m *minresRun) cycle(ctx context.Context, rr float64) (updated float64, err error) {
	l, err := m.begin(rr)
	if err != nil {
		return 0, err
	}
	var dbar, epsln, norm, sn float64
	phibar, cs, gmax, gmin := l.beta, -1.0, 0.0, math.Inf(1)
	w1, w2 := m.w[0], m.w[1]
	for {
		if err := m.checkLimits(ctx); err != nil {
			return 0, err
		}
		first := l.before == 0
		alpha, err := m.step(&l)
		if err != nil {
			return 0, err
		}
		if norm = math.Hypot(norm, alpha); !first {
			norm = math.Hypot(norm, l.before)
		}
		if norm = math.Hypot(norm, l.beta); !finite(norm) {
			return 0, m.outOfRange()
		}

		// The next rotation. ar·phibar is ‖A·r‖ for the r before.
		oldeps, delta, gbar := epsln, cs*dbar+sn*alpha, sn*dbar-cs*alpha
		epsln, dbar = sn*l.beta, -cs*l.beta
		ar := math.Hypot(gbar, dbar)
		m.minres.NormA = math.Ldexp(norm/l.scale, m.expA+m.expM)
		m.minres.Gradient = ar / max(norm, math.SmallestNonzeroFloat64)
		if ar <= m.atol*norm {
			return 0, errLeastSquares
		}
		gamma := math.Hypot(gbar, l.beta)
		cs, sn = gbar/gamma, l.beta/gamma
		phi := cs * phibar
		phibar *= sn
		gmax, gmin = max(gmax, gamma), min(gmin, gamma)
		m.minres.Condition = gmax / gmin

		// Update x.
		m.Axpby(1/gamma, m.v, -oldeps/gamma, w1)
		if delta != 0 {
			m.Axpby(-delta/gamma, w2, 1, w1)
		}
		m.Axpby(phi, w1, 1, m.x)
		w1, w2 = w2, w1
		if updated, err = m.updateResidual(&l, cs, sn, phibar); err != nil {
			return 0, err
		}
		m.note(updated)
		m.observed()
		switch {
		case !finite(updated):
			return 0, m.outOfRange()
		case !(updated > m.target) || l.beta == 0:
			return updated, nil
		case m.minres.Condition >= 0.1/0x1p-52:
			return 0, m.unconverged("A is singular to working precision")
		}
	}
}

// updateResidual returns ‖b − A·x‖: |φ̄| without a preconditioner. With one that is the norm of M^(−1/2)·(b − A·x), and
// b − A·x is updated by the last vector of the process.
func (m *minresRun) updateResidual(l *lanczos, cs, sn, phibar float64) (float64, error) {
	if m.solve == nil {
		return phibar, nil
	}
	factor := 0.0
	if l.beta > 0 {
		factor = -cs * phibar / l.beta
	}
	rr, err := axpbyDot(m.Vectors, factor, l.r2, sn*sn, m.r, m.r)
	if err != nil {
		return 0, err
	}
	return root(m.Vectors, m.r, rr)
}
