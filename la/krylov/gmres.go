package krylov

import (
	"cmp"
	"context"
	"math"

	"github.com/tessera-la/tessera/internal/problems"
)

// GMRESOptions configures [GMRES]. The zero value means the defaults.
type GMRESOptions struct {
	// Tolerance ends the iteration when ‖b − A·x‖ ≤ Tolerance·‖b‖; 0 means 1e-10.
	Tolerance float64
	// MaxIterations is the largest number of products with A; 0 means 10·n, but at least 100.
	MaxIterations int
	// Restart is the number of iterations after which GMRES begins anew from its x; 0 means 30. More of them
	// converge faster, and each takes a vector and more time.
	Restart int
	// Observe, if not nil, is called after each iteration with the norm of its residual.
	Observe func(iteration int, residual float64)
	// Preconditioner, if not nil, is an M that resembles A.
	Preconditioner Preconditioner
}

// GMRESResult describes a run of [GMRES].
type GMRESResult struct {
	Iterations int
	Residual   float64 // ‖b − A·x‖, at the end computed from x; NaN if an error came before the first residual
}

// GMRES solves
//
//	A·x = b
//
// for any n×n A that is not singular, by the generalized minimal residual method. b and x have n elements.
// GMRES begins with the given x, usually zeros, and overwrites it. It needs only products A·x, not Aᵀ·x. It
// uses Restart+3 vectors of n elements besides x and b, one more with a preconditioner, and two more if
// elements of A or b are near the ends of the range of float64.
//
// The residual never grows, unless A is singular to working precision. It may stay where it is: then a larger Restart
// or another preconditioner helps. M stands on the right, A·M⁻¹·(M·x) = b, so that the rule for the end looks at b − A·x.
//
// The basis is made by modified Gram-Schmidt, a second time where most of a vector is cancelled. As in [CG],
// powers of two do not change the bits.
//
// The error is a *[la.ShapeError] or an *[OptionsError]; a *[NonFiniteError]; a *[BreakdownError] if A is
// singular and b not in its range; a *[ConvergenceError] after MaxIterations; the cause of the end of ctx; or
// that of the operator. After the first two x is unchanged, after the last two it is that of the last restart,
// and else that of the last iteration. If a [Keeper] fails, x may be unchanged. GMRES panics with
// [ErrOverlap] if x and b begin at the same element.
//
// Reference: Saad and Schultz, GMRES: A Generalized Minimal Residual Algorithm for Solving Nonsymmetric Linear
// Systems, SIAM J. Sci. Stat. Comput. 7, 1986; Saad, Iterative Methods for Sparse Linear Systems, algorithm
// 9.5.
func GMRES(ctx context.Context, a Operator, x, b []float64, opt GMRESOptions) (GMRESResult, error) {
	var bad problems.List
	bad.Check(opt.Restart >= 0, "Restart is %d, want at least 0", opt.Restart)
	common := options{opt.Tolerance, opt.MaxIterations, opt.Observe, opt.Preconditioner}
	result, err := solveSystem(ctx, "GMRES", a, x, b, common, bad, func(s *system) error {
		g := gmresRun{system: s, restart: cmp.Or(opt.Restart, 30)}
		if s.solve != nil {
			g.z = s.New(s.n)
		}
		return s.cycles(func(r, _ float64) (float64, error) { return g.cycle(ctx, r) })
	})
	return GMRESResult(result), err
}

// gmresRun is the state of GMRES. After j steps
//
//	A·M⁻¹·(v₀ … vⱼ₋₁) = (v₀ … vⱼ)·Qᵀ·R, b − A·x₀ = (v₀ … vⱼ)·Qᵀ·g
//
// where Q is a product of rotations, and R upper triangular.
type gmresRun struct {
	*system
	restart int
	z       Vector      // M⁻¹·v
	v       []Vector    // the orthonormal basis
	upper   [][]float64 // the columns of R
	g       []float64
	c, s    []float64 // the rotations
}

// cycle runs the iteration from r = b − A·x until the residual is small enough, or for the steps of a restart.
func (s *gmresRun) cycle(ctx context.Context, r float64) (updated float64, err error) {
	s.Axpby(1/r, s.r, 0, s.basis(0))
	s.upper, s.c, s.s, s.g = s.upper[:0], s.c[:0], s.s[:0], append(s.g[:0], r)
	singular := false
	for updated = r; len(s.upper) < s.restart && s.result.Iterations < s.maxIter && updated > s.target && !singular; {
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		if singular, err = s.step(); err != nil {
			return 0, err
		}
		updated = math.Abs(s.g[len(s.upper)])
		s.note(updated)
		s.observed()
	}
	if err := s.update(); err != nil {
		return 0, err
	}
	if singular && updated > s.target {
		return 0, s.broken("a product is a combination of those before: A is singular, or M")
	}
	return updated, nil
}

// basis returns vector j of the basis, at most one more than there are.
func (s *gmresRun) basis(j int) Vector {
	if j == len(s.v) {
		s.v = append(s.v, s.New(s.n))
	}
	return s.v[j]
}

// step makes the next vector of the basis and the next column of R. It makes none if the column depends on
// those before.
func (s *gmresRun) step() (singular bool, err error) {
	j := len(s.upper)
	v, w := s.v[j], s.basis(j+1)
	if s.solve != nil {
		if err := s.solve(s.z, v); err != nil {
			return false, err
		}
		v = s.z
	}
	if err := s.MulVecTo(w, false, v); err != nil {
		return false, err
	}
	s.result.Iterations++
	h := make([]float64, j+1, j+2)
	left, whole, err := s.orthogonalize(h, w)
	if err != nil {
		return false, err
	}
	// If most of w is cancelled, what is left of it is not orthogonal. Twice is enough; if most is cancelled
	// again, w was a combination of the basis but for rounding.
	const most = 0x1p-5
	if whole > 0 && left <= most*whole {
		again, rest, err := s.orthogonalize(h, w)
		if err != nil {
			return false, err
		}
		if left = again; again <= most*rest {
			left = 0
		}
	}
	for i, c := range s.c {
		h[i], h[i+1] = c*h[i]+s.s[i]*h[i+1], c*h[i+1]-s.s[i]*h[i]
	}
	rho := math.Hypot(h[j], left)
	switch {
	case !finite(whole) || !finite(rho):
		return false, s.outOfRange()
	case rho <= cancelled*whole:
		return true, nil
	}
	if left > 0 {
		s.Axpby(1/left, w, 0, w)
	}
	c, sn := h[j]/rho, left/rho
	h[j] = rho
	s.upper, s.c, s.s = append(s.upper, h), append(s.c, c), append(s.s, sn)
	s.g = append(s.g, -sn*s.g[j])
	s.g[j] *= c
	return false, nil
}

// orthogonalize subtracts from w its parts along the basis vectors of h, and adds these parts to h. It returns
// the norm of what is left, and that of w.
func (s *gmresRun) orthogonalize(h []float64, w Vector) (left, whole float64, err error) {
	d, err := s.Dot(w, s.v[0], 1)
	for i := range h {
		if err != nil {
			return 0, 0, err
		}
		h[i] += d
		whole = math.Hypot(whole, d)
		next := w
		if i+1 < len(h) {
			next = s.v[i+1]
		}
		d, err = axpbyDot(s.Vectors, -d, s.v[i], 1, w, next)
	}
	if err == nil {
		left, err = root(s.Vectors, w, d)
	}
	return left, math.Hypot(whole, left), err
}

// update adds to x the combination of the basis that makes the residual minimal. It overwrites r.
func (s *gmresRun) update() error {
	y := s.g[:len(s.upper)]
	for i := len(y) - 1; i >= 0; i-- {
		for k := i + 1; k < len(y); k++ {
			y[i] -= s.upper[k][i] * y[k]
		}
		if y[i] /= s.upper[i][i]; !finite(y[i]) {
			return s.outOfRange()
		}
	}
	d, beta := s.r, 0.0
	for i, v := range y {
		s.Axpby(v, s.v[i], beta, d)
		beta = 1
	}
	if len(y) > 0 && s.solve != nil {
		if err := s.solve(s.z, d); err != nil {
			return err
		}
		d = s.z
	}
	if len(y) > 0 {
		s.Axpby(1, d, 1, s.x)
	}
	return nil
}
