package loopapps

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Kernel is the kernel of a support vector machine.
type Kernel uint8

// The kernels.
const (
	RBF    Kernel = iota // exp(−‖x − y‖²/d), for points of d coordinates
	Linear               // x·y
)

var kernels = [...]string{"rbf", "linear"}

// Kernels returns all kernels.
func Kernels() []Kernel { return []Kernel{RBF, Linear} }

func (k Kernel) String() string { return kernels[k] }

const (
	// penalty is C, the bound of the multipliers.
	penalty = 1
	// smoTolerance is by how much the conditions of Karush, Kuhn and Tucker may be violated.
	smoTolerance = 1e-3
	// smoCache is the most memory for rows of the kernel that a solution keeps.
	smoCache = 64 << 20
)

// smo is the dual problem of a support vector machine on n points x with labels y = ±1,
//
//	max Σ alpha_i − ½ Σ alpha_i alpha_j y_i y_j K(x_i, x_j),  0 ≤ alpha_i ≤ C,  Σ alpha_i y_i = 0,
//
// and its solution by sequential minimal optimisation: of all pairs of multipliers the one that
// promises the largest gain by second-order information is optimised, until no pair violates
// the conditions by more than the tolerance.
//
// Reference: Fan, Chen, Lin, "Working set selection using second order information for training
// support vector machines" (2005), WSS 2.
type smo struct {
	kernel   Kernel
	x        [][]float64
	y, alpha []float64
	f        []float64 // Σ_j alpha_j y_j K_ij − y_i: −f is the gradient along y
	squares  []float64 // ‖x_i‖²
	diagonal []float64 // K_ii

	rows  [][]float64 // of the kernel; nil where it is not kept
	used  []int       // when each was last used
	held  []int       // which are kept
	most  int         // of these
	clock int
}

// newSMO returns a problem. Alpha, which is taken over, is where the solution begins: it
// satisfies the constraints.
func newSMO(kernel Kernel, x [][]float64, y, alpha []float64) *smo {
	n := len(x)
	s := &smo{kernel: kernel, x: x, y: y, alpha: alpha, f: make([]float64, n), squares: make([]float64, n), diagonal: make([]float64, n)}
	s.rows, s.used, s.most = make([][]float64, n), make([]int, n), max(2, smoCache/(8*max(1, n)))
	for i, p := range x {
		s.squares[i] = floats.Dot(p, p)
		s.diagonal[i] = s.kernel.of(s.squares[i], s.squares[i], s.squares[i], len(p))
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

// of returns K(x, y) for points of d coordinates, from ‖x‖², ‖y‖² and x·y.
func (k Kernel) of(xx, yy, xy float64, d int) float64 {
	if k == Linear {
		return xy
	}
	return math.Exp((2*xy - xx - yy) / float64(d))
}

// row returns row i of the kernel, which stays valid until two others have been asked for.
func (s *smo) row(i int) []float64 {
	s.clock++
	s.used[i] = s.clock
	if s.rows[i] != nil {
		return s.rows[i]
	}
	var row []float64
	if len(s.held) < s.most {
		row = make([]float64, len(s.x))
		s.held = append(s.held, i)
	} else { // in place of the one that was not used for longest
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
		row[j] = s.kernel.of(s.squares[i], s.squares[j], floats.Dot(p, q), len(p))
	}
	s.rows[i] = row
	return row
}

// room returns by how much alpha_i·y_i can grow, and shrink.
func (s *smo) room(i int) (up, down float64) {
	if s.y[i] > 0 {
		return penalty - s.alpha[i], s.alpha[i]
	}
	return s.alpha[i], penalty - s.alpha[i]
}

// solve solves the problem. The error is the cause of the context's end.
func (s *smo) solve(ctx context.Context) error {
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
				// Points that are equal have no curvature between them.
				a := max(s.diagonal[i]+s.diagonal[t]-2*row[t], 1e-12)
				if gain := b * b / a; gain > best {
					j, best, move = t, gain, b/a
				}
			}
		}
		if j < 0 || top-bottom <= smoTolerance {
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

// shift adds to alpha_i·y_i; to the bound if that is where it goes, without roundings.
func (s *smo) shift(i int, by float64, bound bool) {
	s.alpha[i] += by * s.y[i]
	if bound {
		if s.alpha[i] < 0.5*penalty {
			s.alpha[i] = 0
		} else {
			s.alpha[i] = penalty
		}
	}
}

// objective returns what is maximised.
func (s *smo) objective() (w float64) {
	for i, a := range s.alpha {
		w += a * (1 - s.y[i]*s.f[i]) / 2
	}
	return w
}
