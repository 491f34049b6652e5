package tridiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// secular is the equation
//
//	f(λ) = 1 + Σ zz(i)/(d(i)−λ) = 0
//
// with k strictly ascending poles d and positive zz. f rises from −∞ to ∞ between two poles, and from −∞ to 1 behind
// the last one. So there is one root between each pole and the next, and one behind the last pole.
type secular[T scalar.Real] struct {
	d, zz   []T
	squares bool // the poles are the squares of d, and the result is the square root of λ
	by      Secular[T]
}

// find returns root λ(j) as its distance τ from a pole, and sets delta to the poles relative to that one. The differences
// delta(i)−τ are accurate to a few units in the last place. A difference that the caller computes from a λ next to a pole
// would not be.
//
// The unknown is τ for the nearest pole. Each step replaces the sum over the poles to the left by a function with one
// pole that has the same value and slope at τ, and likewise the sum to the right. The equation then is quadratic, and the
// step solves it (Li's middle way). If the solution is outside the interval that contains the root, the step divides the
// interval instead. So the iteration ends in any case.
func (q *secular[T]) find(j int, delta []T) (origin int, tau T) {
	if len(q.d) == 1 {
		delta[0] = 0
		return 0, q.zz[0]
	}
	at := q.begin(j, delta)
	at.run()
	return at.origin, at.tau
}

// value returns the root that is τ behind a pole, or its square root if q.squares.
func (q *secular[T]) value(pole int, tau T) T {
	d := q.d[pole]
	if q.squares {
		return d + tau/(d+T(math.Sqrt(float64(d*d+tau))))
	}
	return d + tau
}

// run iterates until f is as small as its rounding errors, or a step does not change τ. It returns the number of
// steps.
func (s *search[T]) run() (steps int) {
	for steps = range maxSteps {
		f, slope, bound := s.evaluate()
		if math.Abs(float64(f)) <= float64(bound) {
			break
		}
		if f < 0 {
			s.low = s.tau
		} else {
			s.high = s.tau
		}
		next := s.step(f, slope)
		if next == s.tau {
			break
		}
		s.tau = next
	}
	return steps
}

// maxSteps limits the steps for one root. Bisection takes far fewer from one end of the range of float64 to the other.
const maxSteps = 200

// search is the search for one root: the one between the poles left and right, or the one behind both if last.
type search[T scalar.Real] struct {
	*secular[T]
	delta       []T // poles relative to the pole origin, from which τ is counted
	origin      int
	left, right int // the sums over poles 0 … left and right … k−1 become functions with these poles
	last        bool
	tau         T
	low, high   T     // the interval of the root: f < 0 at low and f > 0 at high, or a pole is there
	parts       [4]T  // at τ: the left and the right sum, and their slopes
	halvings    uint8 // steps since the last one that was inside the interval
}

// begin chooses the origin and the first τ of the search for root j.
func (q *secular[T]) begin(j int, delta []T) search[T] {
	k := len(q.d)
	s := search[T]{secular: q, delta: delta, left: j, right: j + 1}
	if j == k-1 {
		s.last, s.left, s.right = true, k-2, k-1
		s.place(k - 1)
		var sum float64
		for _, x := range q.zz {
			sum += float64(x)
		}
		s.high = T(sum * (1 + 4*float64(k)*scalar.Eps[T]()))
		s.tau = s.high / 2
		s.evaluate()
		s.start()
		return s
	}
	s.place(j)
	half := s.delta[j+1] / 2
	s.tau = half
	f, _, _ := s.evaluate()
	if f >= 0 {
		s.low, s.high = 0, half
	} else {
		s.place(j + 1)
		s.low, s.high = -half, 0
		s.tau = -half
	}
	s.start()
	return s
}

// place sets the origin, and delta relative to it.
func (s *search[T]) place(origin int) {
	s.origin = origin
	o := s.d[origin]
	if s.squares {
		for i, x := range s.d {
			s.delta[i] = (x - o) * (x + o)
		}
		return
	}
	for i, x := range s.d {
		s.delta[i] = x - o
	}
}

// start replaces τ, at which evaluate has computed the sums, by the root of a simpler equation: its sums over all poles
// but left and right are constants, those at the old τ.
func (s *search[T]) start() {
	a, b := s.zz[s.left], s.zz[s.right]
	p, q := s.delta[s.left], s.delta[s.right]
	rest := 1 + s.parts[0] + s.parts[1] - a/(p-s.tau) - b/(q-s.tau)
	// rest + a/(p−x) + b/(q−x) = 0
	x := quadratic(rest, rest*(p+q)+a+b, rest*p*q+a*q+b*p, s.last)
	s.tau = s.within(x)
}

// evaluate returns f(τ), its slope, and a bound on the rounding errors in f.
func (s *search[T]) evaluate() (f, slope, bound T) {
	l, dl := s.sums(0, s.left+1)
	r, dr := s.sums(s.right, len(s.delta))
	s.parts = [4]T{l, r, dl, dr}
	eps := T(scalar.Eps[T]())
	size := abs(l) + abs(r)
	return 1 + l + r, dl + dr, eps * (2 + 8*size + abs(s.tau)*(dl+dr))
}

// sums returns Σ zz(i)/(delta(i)−τ) and Σ zz(i)/(delta(i)−τ)² for i = lo … hi−1.
func (s *search[T]) sums(lo, hi int) (value, slope T) {
	delta, zz := s.delta[lo:hi], s.zz[lo:hi]
	if s.by == nil {
		return sums(delta, zz, s.tau)
	}
	done, value, slope := s.by.Sums(delta, zz, s.tau)
	v, w := sums(delta[done:], zz[done:], s.tau)
	return value + v, slope + w
}

// sums returns Σ zz(i)/(delta(i)−tau) and Σ zz(i)/(delta(i)−tau)².
func sums[T scalar.Real](delta, zz []T, tau T) (value, slope T) {
	zz = zz[:len(delta)]
	var v0, v1, s0, s1 T
	i := 0
	for ; i+1 < len(delta); i += 2 {
		x, y := 1/(delta[i]-tau), 1/(delta[i+1]-tau)
		a, b := zz[i]*x, zz[i+1]*y
		v0, v1 = v0+a, v1+b
		s0, s1 = s0+a*x, s1+b*y
	}
	if i < len(delta) {
		x := 1 / (delta[i] - tau)
		a := zz[i] * x
		v0, s0 = v0+a, s0+a*x
	}
	return v0 + v1, s0 + s1
}

// step returns the next τ. f and slope are those at the present τ.
func (s *search[T]) step(f, slope T) T {
	p, q := s.delta[s.left]-s.tau, s.delta[s.right]-s.tau
	c := f - p*s.parts[2] - q*s.parts[3]
	if s.last && c < 0 {
		c = -c
	}
	eta := quadratic(c, (p+q)*f-p*q*slope, p*q*f, s.last)
	if !(f*eta < 0) { // also if the product is NaN
		eta = -f / slope
	}
	return s.within(s.tau + eta)
}

// within returns x if it is inside the interval, or else a number well inside that divides the interval.
func (s *search[T]) within(x T) T {
	if x > s.low && x < s.high {
		s.halvings = 0
		return x
	}
	s.halvings++
	switch {
	case s.low > 0:
		return mean(s.low, s.high)
	case s.high < 0:
		return -mean(-s.high, -s.low)
	case s.low == 0: // a pole is there, and the root may be closer to it by any power of two
		return s.high / T(math.Ldexp(1, min(1<<s.halvings, 64)))
	case s.high == 0:
		return s.low / T(math.Ldexp(1, min(1<<s.halvings, 64)))
	}
	return s.low/2 + s.high/2
}

// mean returns the arithmetic mean of the positive numbers a < b, or their geometric mean if they are far apart.
func mean[T scalar.Real](a, b T) T {
	if b > 4*a {
		return T(math.Sqrt(float64(a)) * math.Sqrt(float64(b)))
	}
	return a/2 + b/2
}

// quadratic returns a root of c·x² − a·x + b, which comes from an equation with two poles. It returns the root between
// the poles, or if last is true the one behind both.
func quadratic[T scalar.Real](c, a, b T, last bool) T {
	root := T(math.Sqrt(math.Abs(float64(a*a - 4*b*c))))
	switch {
	case c == 0:
		return b / a
	case last == (a < 0):
		if last {
			return 2 * b / (a - root)
		}
		return 2 * b / (a + root)
	case last:
		return (a + root) / (2 * c)
	}
	return (a - root) / (2 * c)
}

// abs returns the absolute value of x.
func abs[T scalar.Real](x T) T { return T(math.Abs(float64(x))) }
