package krylov

import (
	"cmp"
	"context"
	"fmt"
	"math"
)

// LSQROptions configures [LSQR]. The zero value is useful.
type LSQROptions struct {
	// Damp is λ: (A; λI)·x ≈ (b; 0) is solved, which keeps x small.
	Damp float64
	// ATol and BTol are the relative errors of A and b: x is good enough when it solves a
	// problem within these of the given one exactly. 0 means 1e-10.
	ATol, BTol float64
	// ConditionLimit ends the iteration when the estimate of the condition of (A; λI) exceeds
	// it; 0 means 1e12. Of a matrix without full rank x would go to where it means nothing.
	ConditionLimit float64
	// MaxIterations is the most iterations; 0 means 10·min(m, n), at least 100.
	MaxIterations int
	// Observe, if not nil, is called after each iteration with the norm of its residual.
	Observe func(iteration int, residual float64)
}

// Stop says why [LSQR] has ended with a solution.
type Stop uint8

// The reasons.
const (
	StopZero         Stop = iota // x = 0 is the solution
	StopConsistent               // A·x = b is solved within ATol and BTol
	StopLeastSquares             // the residual is minimal within ATol
)

func (s Stop) String() string {
	names := [...]string{"x = 0 is the solution", "A·x = b within the tolerances", "a least-squares solution within the tolerance"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("Stop(%d)", uint8(s))
}

// LSQRResult says how [LSQR] has gone. All but Iterations and Stop are the estimates of its
// recurrences.
type LSQRResult struct {
	Iterations int
	Stop       Stop
	Residual   float64 // ‖b − A·x‖, of the extended system with Damp
	Gradient   float64 // ‖Aᵀ·(b − A·x) − λ²·x‖
	NormA      float64 // the Frobenius norm of (A; λI), as far as it was seen
	Condition  float64 // of (A; λI)
	NormX      float64
}

// LSQR computes an x that minimises
//
//	‖b − A·x‖² + λ²·‖x‖²
//
// for an m×n operator A of any shape and rank; of several such x the one of least norm. It
// overwrites x, whose elements do not count. It works like conjugate gradients on AᵀA + λ²I, by
// way of the bidiagonalization of A, which loses less to rounding; it asks for A·v and Aᵀ·u
// once an iteration and works in three vectors of n elements and two of m, or four if A is square.
//
// It ends with a solution when one of Paige and Saunders' rules holds, r being the residual:
// ‖r‖ ≤ BTol·‖b‖ + ATol·‖A‖·‖x‖, or ‖Aᵀr‖ ≤ ATol·‖A‖·‖r‖.
//
// Errors: a *[la.ShapeError], an *[OptionsError]; a *[NonFiniteError]; a *[ConvergenceError]
// after MaxIterations, or when the condition is beyond its limit; the cause of the context's end;
// what the operator returns. With these, but for the first two, x is that of the last iteration. If a
// [Keeper] fails, x may be zeros. LSQR panics with [ErrOverlap] if x and b begin at the same element.
//
// Reference: Paige and Saunders, LSQR: An Algorithm for Sparse Linear Equations and Sparse Least
// Squares, ACM Trans. Math. Softw. 8, 1982.
func LSQR(ctx context.Context, a Operator, x, b []float64, opt LSQROptions) (s LSQRResult, err error) {
	if err := checkOptions(opt.MaxIterations, "Damp, ATol, BTol and ConditionLimit", opt.Damp, opt.ATol, opt.BTol, opt.ConditionLimit); err != nil {
		return s, err
	}
	if err := checkShapes("LSQR", a, x, b); err != nil {
		return s, err
	}
	m, n := a.Dims()
	or := func(v *float64, usual float64) {
		if *v == 0 {
			*v = usual
		}
	}
	or(&opt.ATol, 1e-10)
	or(&opt.BTol, 1e-10)
	or(&opt.ConditionLimit, 1e12)
	most := opt.MaxIterations
	if most == 0 {
		most = max(100, 10*min(m, n))
	}
	clear(x)
	normB, _, err := norm(&memory{all: [][]float64{b}}, 0)
	switch {
	case err != nil:
		return s, err
	case !finite(normB):
		return s, &NonFiniteError{"LSQR", 0}
	}
	if s.Residual = normB; normB == 0 {
		return s, nil
	}
	vs, err := vectorsOf(ctx, a)
	if err != nil {
		return s, err
	}
	l := lsqrVectors{x: vs.Load(x), b: vs.Load(b), u: vs.New(m), v: vs.New(n), w: vs.New(n), av: vs.New(m)}
	if l.atu = l.av; m != n {
		l.atu = vs.New(n)
	}
	defer func() { err = cmp.Or(err, vs.Close(l.x)) }()
	err = lsqr(ctx, vs, l, normB, opt, most, &s)
	return s, err
}

// lsqrVectors is the vectors of LSQR: those that bidiagonalize A, u and v; w, along which x goes;
// A·v and Aᵀ·u.
type lsqrVectors struct{ x, b, u, v, w, av, atu Vector }

// bidiagonalize goes on with the bidiagonalization of A. Before is the α of the step before:
//
//	β·u = A·v − before·u, α·v = Aᵀ·u − β·v
func (l *lsqrVectors) bidiagonalize(vs Vectors, before float64) (alpha, beta float64, err error) {
	if err := vs.MulVecTo(l.av, false, l.v); err != nil {
		return 0, 0, err
	}
	vs.Axpby(1, l.av, -before, l.u)
	if beta, _, err = norm(vs, l.u); err != nil || !(beta > 0) {
		return 0, beta, err
	}
	vs.Axpby(1/beta, l.u, 0, l.u)
	if err := vs.MulVecTo(l.atu, true, l.u); err != nil {
		return 0, 0, err
	}
	vs.Axpby(1, l.atu, -beta, l.v)
	if alpha, _, err = norm(vs, l.v); err == nil && alpha > 0 {
		vs.Axpby(1/alpha, l.v, 0, l.v)
	}
	return alpha, beta, err
}

// lsqr is the iteration.
func lsqr(ctx context.Context, vs Vectors, l lsqrVectors, normB float64, opt LSQROptions, most int, s *LSQRResult) error {
	// β·u = b, α·v = Aᵀ·u
	beta := normB
	vs.Axpby(1/beta, l.b, 0, l.u)
	if err := vs.MulVecTo(l.v, true, l.u); err != nil {
		return err
	}
	alpha, _, err := norm(vs, l.v)
	switch {
	case err != nil:
		return err
	case !finite(alpha):
		return &NonFiniteError{"LSQR", 0}
	case alpha == 0:
		return nil // b is orthogonal to what A can reach
	}
	vs.Axpby(1/alpha, l.v, 0, l.v)
	vs.Axpby(1, l.v, 0, l.w)

	rhobar, phibar := alpha, beta
	var normA2, normD2, damped, z, x2 float64 // squares of norms; of what damping adds to the residual
	cs2, sn2 := -1.0, 0.0
	s.Gradient = alpha * beta
	for s.Iterations < most {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s.Iterations++
		before := alpha
		if alpha, beta, err = l.bidiagonalize(vs, before); err != nil {
			return err
		}
		normA2 += before*before + beta*beta + opt.Damp*opt.Damp
		if !finite(alpha) || !finite(beta) {
			return &NonFiniteError{"LSQR", s.Iterations}
		}

		// A rotation takes the damping away, another one β.
		rhobar1, psi := rhobar, 0.0
		if opt.Damp > 0 {
			rhobar1 = math.Hypot(rhobar, opt.Damp)
			psi = opt.Damp / rhobar1 * phibar
			phibar *= rhobar / rhobar1
		}
		rho := math.Hypot(rhobar1, beta)
		if rho == 0 {
			return &NonFiniteError{"LSQR", s.Iterations}
		}
		c, sn := rhobar1/rho, beta/rho
		theta := sn * alpha
		rhobar = -c * alpha
		phi := c * phibar
		phibar *= sn
		tau := sn * phi

		// x and w, and the norm of what x was made of, for the condition.
		vs.Axpby(phi/rho, l.w, 1, l.x)
		normW, _, err := norm(vs, l.w)
		if err != nil {
			return err
		}
		vs.Axpby(1, l.v, -theta/rho, l.w)
		normD2 += normW / rho * (normW / rho)

		// ‖x‖, by a rotation from the other side.
		delta := sn2 * rho
		gambar := -cs2 * rho
		rhs := phi - delta*z
		zbar := rhs / gambar
		s.NormX = math.Sqrt(x2 + zbar*zbar)
		gamma := math.Hypot(gambar, theta)
		cs2, sn2 = gambar/gamma, theta/gamma
		z = rhs / gamma
		x2 += z * z

		damped += psi * psi
		s.Residual = math.Sqrt(phibar*phibar + damped)
		s.Gradient = alpha * math.Abs(tau)
		s.NormA = math.Sqrt(normA2)
		s.Condition = s.NormA * math.Sqrt(normD2)
		if opt.Observe != nil {
			opt.Observe(s.Iterations, s.Residual)
		}
		if !finite(s.NormX) || !finite(s.Residual) || !finite(s.NormA) {
			return &NonFiniteError{"LSQR", s.Iterations}
		}
		if over, err := s.stops(&opt, normB); over {
			return err
		}
	}
	return &ConvergenceError{"LSQR", s.Iterations, s.Residual, 0, "the limit of iterations"}
}

// stops reports whether the iteration is over, by the rules of Paige and Saunders.
func (s *LSQRResult) stops(opt *LSQROptions, normB float64) (over bool, err error) {
	switch {
	case s.Residual <= opt.BTol*normB+opt.ATol*s.NormA*s.NormX:
		s.Stop = StopConsistent
	case s.Gradient <= opt.ATol*s.NormA*s.Residual:
		s.Stop = StopLeastSquares
	case s.Condition >= opt.ConditionLimit:
		return true, &ConvergenceError{"LSQR", s.Iterations, s.Residual, 0, fmt.Sprintf("the condition is about %.1e, the limit is %.1e: a Damp may help", s.Condition, opt.ConditionLimit)}
	default:
		return false, nil
	}
	return true, nil
}
