package svm

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Kernel is the kernel of a support vector machine.
type Kernel uint8

// The kernels.
const (
	RBF    Kernel = iota // exp(−Gamma·‖x − y‖²)
	Linear               // x·y
)

var kernels = [...]string{"rbf", "linear"}

// Kernels returns all kernels.
func Kernels() []Kernel { return []Kernel{RBF, Linear} }

func (k Kernel) String() string { return kernels[k] }

const (
	// Tolerance is how much the Karush-Kuhn-Tucker conditions may be violated.
	Tolerance = 1e-3
	// cache is the largest memory for kernel rows that a solution keeps.
	cache = 64 << 20
)

// Params are the parameters of a machine.
type Params struct {
	Kernel Kernel
	Gamma  float64 // of RBF
	C      float64 // upper bound of the multipliers
}

// SMO is the dual problem of a support vector machine on n points x with labels y = ±1,
//
//	max Σ alpha_i − ½ Σ alpha_i alpha_j y_i y_j K(x_i, x_j),  0 ≤ alpha_i ≤ C,  Σ alpha_i y_i = 0,
//
// and its solution by sequential minimal optimisation. Repeatedly, the pair of multipliers with the largest
// expected gain, by second-order information, is optimised, until no pair violates the conditions by more than
// the tolerance.
//
// Reference: Fan, Chen, Lin, "Working set selection using second order information for training
// support vector machines" (2005), WSS 2.
type SMO struct {
	Alpha []float64 // the multipliers

	Params
	x        [][]float64
	y        []float64
	f        []float64 // Σ_j alpha_j y_j K_ij − y_i: −f is the gradient along y
	squares  []float64 // ‖x_i‖²
	diagonal []float64 // K_ii

	rows  [][]float64 // of the kernel; nil if not kept
	used  []int       // when each was last used
	held  []int       // which rows are kept
	most  int         // how many of them may be kept
	clock int
}

// New returns a problem. The solution starts with alpha, which must satisfy the constraints. New takes
// ownership of it.
func New(p Params, x [][]float64, y, alpha []float64) *SMO {
	n := len(x)
	s := &SMO{Alpha: alpha, Params: p, x: x, y: y, f: make([]float64, n), squares: make([]float64, n), diagonal: make([]float64, n)}
	s.rows, s.used, s.most = make([][]float64, n), make([]int, n), max(2, cache/(8*max(1, n)))
	for i, p := range x {
		s.squares[i] = floats.Dot(p, p)
		s.diagonal[i] = s.of(s.squares[i], s.squares[i], s.squares[i])
		s.f[i] = -y[i]
	}
	for j, a := range alpha {
		if a == 0 {
			continue
		}
		for i, k := range s.row(j) {
			s.f[i] += a * y[j] * k
		}
	}
	return s
}

// of returns K(x, y) from ‖x‖², ‖y‖² and x·y.
func (p *Params) of(xx, yy, xy float64) float64 {
	if p.Kernel == Linear {
		return xy
	}
	return math.Exp(p.Gamma * (2*xy - xx - yy))
}

// row returns row i of the kernel. It is valid until two other rows have been requested.
func (s *SMO) row(i int) []float64 {
	s.clock++
	s.used[i] = s.clock
	if s.rows[i] != nil {
		return s.rows[i]
	}
	var row []float64
	if len(s.held) < s.most {
		row = make([]float64, len(s.x))
		s.held = append(s.held, i)
	} else { // replaces the least recently used row
		oldest := 0
		for h, j := range s.held {
			if s.used[j] < s.used[s.held[oldest]] {
				oldest = h
			}
		}
		j := s.held[oldest]
		row, s.rows[j], s.held[oldest] = s.rows[j], nil, i
	}
	p := s.x[i]
	for j, q := range s.x {
		row[j] = s.of(s.squares[i], s.squares[j], floats.Dot(p, q))
	}
	s.rows[i] = row
	return row
}

// room returns by how much alpha_i·y_i can increase, and decrease.
func (s *SMO) room(i int) (up, down float64) {
	if s.y[i] > 0 {
		return s.C - s.Alpha[i], s.Alpha[i]
	}
	return s.Alpha[i], s.C - s.Alpha[i]
}

// Solve solves the problem. The error is the cause of the context's end.
func (s *SMO) Solve(ctx context.Context) error {
	for step := 0; ; step++ {
		if step%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		i, top := -1, math.Inf(-1)
		for t, f := range s.f {
			if up, _ := s.room(t); up > 0 && -f > top {
				i, top = t, -f
			}
		}
		if i < 0 {
			return nil
		}
		row := s.row(i)
		j, bottom, best, move := -1, math.Inf(1), 0.0, 0.0
		for t, f := range s.f {
			if _, down := s.room(t); down == 0 {
				continue
			}
			bottom = min(bottom, -f)
			if b := top + f; b > 0 {
				// Equal points have no curvature between them.
				a := max(s.diagonal[i]+s.diagonal[t]-2*row[t], 1e-12)
				if gain := b * b / a; gain > best {
					j, best, move = t, gain, b/a
				}
			}
		}
		if j < 0 || top-bottom <= Tolerance {
			return nil
		}
		up, _ := s.room(i)
		_, down := s.room(j)
		move = min(move, up, down)
		s.shift(i, move, move == up)
		s.shift(j, -move, move == down)
		other := s.row(j)
		for t := range s.f {
			s.f[t] += move * (row[t] - other[t])
		}
	}
}

// shift adds by to alpha_i·y_i. If bound is set, the result is the bound exactly, without rounding.
func (s *SMO) shift(i int, by float64, bound bool) {
	s.Alpha[i] += by * s.y[i]
	if bound {
		if s.Alpha[i] < 0.5*s.C {
			s.Alpha[i] = 0
		} else {
			s.Alpha[i] = s.C
		}
	}
}

// Objective returns the value of the objective.
func (s *SMO) Objective() (w float64) {
	for i, a := range s.Alpha {
		w += a * (1 - s.y[i]*s.f[i]) / 2
	}
	return w
}
