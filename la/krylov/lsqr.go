package krylov

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/internal/words"
)

// LSQROptions configures [LSQR]. The zero value means the defaults.
type LSQROptions struct {
	// Damp is λ. LSQR solves the extended system (A; λI)·x ≈ (b; 0), which keeps x small.
	Damp float64
	// ATol and BTol are the relative errors of A and b. LSQR ends when x is the exact solution of
	// a problem whose A and b differ from the given ones by no more than these. 0 means 1e-10.
	ATol, BTol float64
	// ConditionLimit ends the iteration when the estimate of the condition of (A; λI) exceeds
	// it; 0 means 1e12. Without a limit, x has no meaning if the matrix has not full rank.
	ConditionLimit float64
	// MaxIterations is the largest number of iterations; 0 means 10·min(m, n), but at least 100.
	MaxIterations int
	// Observe, if not nil, is called after each iteration with the norm of its residual.
	Observe func(iteration int, residual float64)
}

// Stop says why [LSQR] has ended with a solution.
type Stop uint8

// The values of Stop.
const (
	StopNone         Stop = iota // there is no solution: LSQR returns an error
	StopZero                     // x = 0 is the solution
	StopConsistent               // A·x = b is solved within ATol and BTol
	StopLeastSquares             // the residual is minimal within ATol
)

var stops = words.Of[Stop]{"no solution", "x = 0 is the solution", "A·x = b within the tolerances",
	"a least-squares solution within the tolerance"}

func (s Stop) String() string { return stops.Name(s) }

// LSQRResult describes a run of [LSQR]. All fields except Iterations and Stop are estimates from the
// recurrences.
type LSQRResult struct {
	Iterations int
	Stop       Stop
	Residual   float64 // ‖b − A·x‖, with Damp that of the extended system; NaN if an error came before the first residual
	Gradient   float64 // ‖Aᵀ·(b − A·x) − λ²·x‖
	NormA      float64 // the Frobenius norm of (A; λI) on the directions so far
	Condition  float64 // of (A; λI)
	NormX      float64
}

// LSQR computes an x that minimises
//
//	‖b − A·x‖² + λ²·‖x‖²
//
// for an m×n operator A of any shape and rank. b has m elements, x has n. If several x are minimal, LSQR
// computes the one of least norm. It overwrites x and ignores its initial elements.
//
// Without rounding the iterates are those of conjugate gradients on AᵀA + λ²I; LSQR uses the
// bidiagonalization of A, which loses less to rounding. Each iteration needs one A·v and one Aᵀ·u. Besides x
// and b, LSQR uses three vectors of n elements and two of m, or four in all if A is square, and one more of each
// length if A is near the ends of the range of float64.
//
// As in [CG], powers of two do not change the bits: neither of b, nor of A and λ together.
//
// LSQR ends with a solution when one of the rules of Paige and Saunders holds for the residual r:
//
//	‖r‖ ≤ BTol·‖b‖ + ATol·‖A‖·‖x‖, or ‖Aᵀr‖ ≤ ATol·‖A‖·‖r‖
//
// The error is a *[la.ShapeError] or an *[OptionsError]; a *[NonFiniteError]; a *[ConvergenceError] after
// MaxIterations, or when the condition exceeds its limit; the cause of the end of ctx; or that of the
// operator. Except with the first two, x is that of the last iteration. If a [Keeper] fails, x may be zeros.
// LSQR panics with [ErrOverlap] if x and b begin at the same element.
//
// Reference: Paige and Saunders, LSQR: An Algorithm for Sparse Linear Equations and Sparse Least
// Squares, ACM Trans. Math. Softw. 8, 1982.
func LSQR(ctx context.Context, a Operator, x, b []float64, opt LSQROptions) (s LSQRResult, err error) {
	s.Residual = math.NaN()
	if err := checkOptions(nil, opt.MaxIterations, "Damp, ATol, BTol and ConditionLimit", opt.Damp, opt.ATol, opt.BTol, opt.ConditionLimit); err != nil {
		return s, err
	}
	if err := checkShapes("LSQR", a, x, b); err != nil {
		return s, err
	}
	m, n := a.Dims()
	opt.ATol, opt.BTol, opt.ConditionLimit = cmp.Or(opt.ATol, 1e-10), cmp.Or(opt.BTol, 1e-10), cmp.Or(opt.ConditionLimit, 1e12)
	p := progress{Residual: math.NaN()}
	l := lsqrRun{frame: frame{method: "LSQR", m: m, n: n, maxIter: cmp.Or(opt.MaxIterations, max(100, 10*min(m, n))), observe: opt.Observe, result: &p}, opt: opt, lsqr: &s}
	clear(x)
	normB, expB := magnitude(b)
	switch {
	case !finite(normB):
		return s, l.outOfRange()
	case normB == 0:
		return LSQRResult{Stop: StopZero}, nil
	}
	err = l.run(ctx, a, nil, x, b, func() error { return l.begin(ctx, normB, expB) })
	if s.Iterations, s.Residual = p.Iterations, p.Residual; err != nil {
		s.Stop = StopNone
	}
	return s, err
}

// lsqrRun is the state of LSQR: u and v, the vectors of the bidiagonalization; w, the direction in which x
// changes; A·v and Aᵀ·u; and numbers.
type lsqrRun struct {
	frame
	u, v, w, av, atu Vector
	less             int // λ is scaled by 2^−(expA+less)
	opt              LSQROptions
	lsqr             *LSQRResult
}

// begin scales A, b and λ, and runs the iteration. ‖b‖ is norm·2^exp.
func (l *lsqrRun) begin(ctx context.Context, norm float64, exp int) error {
	l.u, l.v, l.w, l.av = l.New(l.m), l.New(l.n), l.New(l.n), l.New(l.m)
	if l.atu = l.av; l.m != l.n {
		l.atu = l.New(l.n)
	}
	// u = b/‖b‖, and Aᵀ·u shows how large A is.
	l.expB = unit(exp)
	l.normB = math.Ldexp(norm, exp-l.expB)
	l.note(l.normB)
	from := l.b
	if l.expB != 0 {
		times(l, -l.expB, l.b, l.u)
		from = l.u
	}
	l.Axpby(1/l.normB, from, 0, l.u)
	if err := l.scaleA(l.v, true, l.u); err != nil {
		return err
	}
	// If λ is larger than A by more than 2^deep, A does not matter beside it: x is Aᵀ·b/λ² to the last
	// digit. LSQR then takes a λ smaller by 2^less, for which x is larger by 2^(2·less).
	const deep = 300
	if l.opt.Damp > 0 {
		_, exp := math.Frexp(l.opt.Damp)
		l.less = max(0, exp-l.expA-deep)
	}
	l.opt.Damp = math.Ldexp(l.opt.Damp, -l.expA-l.less)
	l.expX = l.expB - l.expA - 2*l.less
	return l.iterate(ctx)
}

// bidiagonalize does a step of the bidiagonalization of A, which overwrites u and v:
//
//	β·u = A·v − before·u, α·v = Aᵀ·u − β·v
//
// before is the α of the step before. β is 0 or a NaN if the step cannot go on; then v is unchanged.
func (l *lsqrRun) bidiagonalize(before float64) (alpha, beta float64, err error) {
	if err := l.MulVecTo(l.av, false, l.v); err != nil {
		return 0, 0, err
	}
	l.Axpby(1, l.av, -before, l.u)
	if beta, _, err = norm(l, l.u); err != nil || !(beta > 0) {
		return 0, beta, err
	}
	l.Axpby(1/beta, l.u, 0, l.u)
	if err := l.MulVecTo(l.atu, true, l.u); err != nil {
		return 0, 0, err
	}
	l.Axpby(1, l.atu, -beta, l.v)
	if alpha, _, err = norm(l, l.v); err == nil && alpha > 0 {
		l.Axpby(1/alpha, l.v, 0, l.v)
	}
	return alpha, beta, err
}

// iterate runs the iteration until one of the rules for the end holds, or an error. Its names are those of
// Paige and Saunders.
func (l *lsqrRun) iterate(ctx context.Context) error {
	// β·u = b, α·v = Aᵀ·u
	s, beta, damp := l.lsqr, l.normB, l.opt.Damp
	alpha, _, err := norm(l, l.v)
	switch {
	case err != nil:
		return err
	case alpha == 0:
		s.Stop = StopZero // b is orthogonal to the range of A
		return nil
	}
	l.Axpby(1/alpha, l.v, 0, l.v)
	l.Axpby(1, l.v, 0, l.w)

	rhobar, phibar := alpha, beta
	// normA estimates ‖(A; λI)‖; damped is the part of the residual that damping adds; normD is the norm of the
	// directions w/ρ, which gives the condition.
	var normA, damped, normD float64
	solution := solutionNorm{cs: -1}
	s.Gradient = math.Ldexp(alpha*beta, l.expA+l.expB)
	for {
		if err := l.checkLimits(ctx); err != nil {
			return err
		}
		l.result.Iterations++
		before := alpha
		if alpha, beta, err = l.bidiagonalize(before); err != nil {
			return err
		}
		normA = math.Hypot(math.Hypot(normA, before), math.Hypot(beta, damp))
		if !finite(alpha) || !finite(beta) {
			return l.outOfRange()
		}

		// One rotation eliminates the damping, and another one eliminates β.
		rhobar1, psi := rhobar, 0.0
		if damp > 0 {
			rhobar1 = math.Hypot(rhobar, damp)
			psi = damp / rhobar1 * phibar
			phibar *= rhobar / rhobar1
		}
		rho := math.Hypot(rhobar1, beta)
		if rho == 0 {
			return l.outOfRange()
		}
		c, sn := rhobar1/rho, beta/rho
		theta := sn * alpha
		rhobar = -c * alpha
		phi := c * phibar
		phibar *= sn
		tau := sn * phi

		// Update x and w.
		l.Axpby(phi/rho, l.w, 1, l.x)
		normW, _, err := norm(l, l.w)
		if err != nil {
			return err
		}
		l.Axpby(1, l.v, -theta/rho, l.w)
		normD = math.Hypot(normD, normW/rho)

		normX := solution.next(rho, theta, phi)
		damped = math.Hypot(damped, psi)
		residual, gradient := math.Hypot(phibar, damped), alpha*math.Abs(tau)
		l.note(residual)
		s.Gradient = math.Ldexp(gradient, l.expA+l.expB)
		s.NormA = math.Ldexp(normA, l.expA+l.less)
		s.NormX = math.Ldexp(normX, l.expX)
		s.Condition = normA * normD
		l.observed()
		if !finite(normX) || !finite(residual) || !finite(normA) {
			return l.outOfRange()
		}
		if s.Stop, err = l.ended(residual, gradient, normA, normX); s.Stop != StopNone || err != nil {
			return err
		}
	}
}

// ended applies Paige and Saunders' rules for the end to estimates of ‖r‖, ‖Aᵀr‖, ‖A‖ and ‖x‖.
func (l *lsqrRun) ended(residual, gradient, normA, normX float64) (Stop, error) {
	switch condition := l.lsqr.Condition; {
	case residual <= l.opt.BTol*l.normB+l.opt.ATol*normA*normX:
		return StopConsistent, nil
	case gradient <= l.opt.ATol*normA*residual:
		return StopLeastSquares, nil
	case condition >= l.opt.ConditionLimit:
		return StopNone, l.unconverged(fmt.Sprintf("the condition is about %.1e, the limit is %.1e: a Damp may help", condition, l.opt.ConditionLimit))
	}
	return StopNone, nil
}

// solutionNorm computes ‖x‖ by rotations from the right: of the bidiagonal matrix they make a lower triangular one,
// and its solution z has the norm of x.
type solutionNorm struct{ cs, sn, z, norm float64 }

// next takes the next row of the bidiagonal matrix, ρ and θ, and φ of the right-hand side, and returns ‖x‖.
func (s *solutionNorm) next(rho, theta, phi float64) (normX float64) {
	delta := s.sn * rho
	gambar := -s.cs * rho
	rhs := phi - delta*s.z
	normX = math.Hypot(s.norm, rhs/gambar)
	gamma := math.Hypot(gambar, theta)
	s.cs, s.sn = gambar/gamma, theta/gamma
	s.z = rhs / gamma
	s.norm = math.Hypot(s.norm, s.z)
	return normX
}
