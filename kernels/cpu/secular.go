package cpu

import "github.com/tessera-la/tessera/kernels/cpu/isa"

// Secular is what secular equations take most of their time for, by vector instructions. Each function does the first
// elements of its operands, and returns how many those are.
type Secular[T Element] struct{ kernels *isa.Kernels[T] }

// SecularBy returns the Secular of a set of routines, or nil if the set has none.
func SecularBy[T Element](r Routines[T]) *Secular[T] {
	if p, ok := r.(*Packed[T]); ok && p.kernels != nil && p.kernels.Secular.Sums != nil {
		return &Secular[T]{p.kernels}
	}
	return nil
}

// whole returns the number of the n elements that are in whole vectors.
func (s *Secular[T]) whole(n int) int { return n &^ (s.kernels.Lanes - 1) }

// Sums returns Σ zz(i)/(delta(i)−tau) and Σ zz(i)/(delta(i)−tau)².
func (s *Secular[T]) Sums(delta, zz []T, tau T) (done int, value, slope T) {
	if done = s.whole(len(delta)); done == 0 {
		return 0, 0, 0
	}
	var sums [2]T
	zz = zz[:done]
	s.kernels.Secular.Sums(done, isa.Hide(&delta[0]), isa.Hide(&zz[0]), isa.Hide(&tau), isa.Hide(&sums))
	return done, sums[0], sums[1]
}

// Factors computes f(i) *= x(i)/(d(i)−p), or with squares f(i) *= x(i)/(d(i)²−p²).
func (s *Secular[T]) Factors(d []T, p T, squares bool, x, f []T) (done int) {
	if done = s.whole(len(d)); done == 0 {
		return 0
	}
	x, f = x[:done], f[:done]
	by := s.kernels.Secular.Factors
	if squares {
		by = s.kernels.Secular.FactorsOfSquares
	}
	by(done, isa.Hide(&d[0]), isa.Hide(&p), isa.Hide(&x[0]), isa.Hide(&f[0]))
	return done
}

// Quotients computes y(i) = w(i)/x(i).
func (s *Secular[T]) Quotients(w, x, y []T) (done int) {
	if done = s.whole(len(w)); done == 0 {
		return 0
	}
	x, y = x[:done], y[:done]
	s.kernels.Secular.Quotients(done, isa.Hide(&w[0]), isa.Hide(&x[0]), isa.Hide(&y[0]))
	return done
}
