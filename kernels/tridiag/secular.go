package tridiag

import (
	"math"

	"github.com/tessera-la/tessera/internal/scalar"
)

// secular is the equation
//
//	f(λ) = 1 + Σ zz(i)/(d(i)−λ) = 0
//
// with k strictly ascending poles d and positive zz. f rises from −∞ to ∞ between two poles, and from −∞
// to 1 behind the last one. So there is one root behind each pole, and before the next.
type secular[T scalar.Real] struct {
	d, zz   []T
	squares bool // poles are the squares of d, and the root's square root is the result
}

// SingularRoot returns root σ(j) > 0 of
//
//	1 + Σ zz(i)/(d(i)²−σ²) = 0
//
// with strictly ascending d(i) ≥ 0 and positive zz, the one behind d(j), and sets diff(i) to d(i)²−σ². Each
// difference is accurate to a few units in the last place.
//
// Reference: LAPACK xLASD4.
func SingularRoot[T scalar.Real](d, zz []T, j int, diff []T) (sigma T) {
	return (&secular[T]{d, zz, true}).root(j, diff)
}

// root returns root j, λ, and sets diff(i) to d(i)−λ. Each difference is accurate to a few units in
// the last place. Differences that are computed from λ are not, where λ is next to a pole.
//
// The unknown is τ, the distance of λ from the nearest pole. Each step replaces the sums over
// the poles to the left and to the right by functions with one pole each, with the same value and
// slope at τ, and solves that equation, which is quadratic (Li's middle way). A step that leaves the
// interval in which the root is known to be is replaced by one that halves it, so that the
// iteration ends in any case.
func (q *secular[T]) root(j int, diff []T) T {
	if len(q.d) == 1 {
		diff[0] = -q.zz[0]
		return q.value(0, q.zz[0])
	}
	at := q.begin(j, diff)
	at.run()
	for i := range diff {
		diff[i] = at.delta[i] - at.tau
	}
	return q.value(at.origin, at.tau)
}

// value returns the root that is τ from a pole, or its square root.
func (q *secular[T]) value(pole int, tau T) T {
	d := q.d[pole]
	if q.squares {
		return d + tau/(d+T(math.Sqrt(float64(d*d+tau))))
	}
	return d + tau
}

// run iterates until f is as small as its rounding errors, or τ does not change any more, and returns the
// number of steps.
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

// maxSteps is far more steps than bisection takes from one end of the range of float64 to the
// other.
const maxSteps = 200

// search is the search for one root.
type search[T scalar.Real] struct {
	*secular[T]
	delta       []T // d(i)−d(origin)
	origin      int
	left, right int // poles whose functions replace the sums over poles 0 … left and right … k−1
	last        bool
	tau         T
	low, high   T     // f < 0 at low, or a pole is there; f > 0 at high, or a pole
	parts       [4]T  // of the sums: values left and right, slopes left and right
	halvings    uint8 // in a row
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

// place sets the origin.
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

// start replaces τ, at which the sums are known, by the root of the equation in which all poles but the two
// beside the root stand still.
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
	l, dl := sums(s.delta[:s.left+1], s.zz[:s.left+1], s.tau)
	r, dr := sums(s.delta[s.right:], s.zz[s.right:], s.tau)
	s.parts = [4]T{l, r, dl, dr}
	eps := T(scalar.Eps[T]())
	size := abs(l) + abs(r)
	return 1 + l + r, dl + dr, eps * (2 + 8*size + abs(s.tau)*(dl+dr))
}

// sums returns Σ zz(i)/(delta(i)−τ) and Σ zz(i)/(delta(i)−τ)².
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

// step returns the next τ.
func (s *search[T]) step(f, slope T) T {
	p, q := s.delta[s.left]-s.tau, s.delta[s.right]-s.tau
	c := f - p*s.parts[2] - q*s.parts[3]
	if s.last && c < 0 {
		c = -c
	}
	eta := quadratic(c, (p+q)*f-p*q*slope, p*q*f, s.last)
	if !(f*eta < 0) { // also if it is NaN
		eta = -f / slope
	}
	return s.within(s.tau + eta)
}

// within returns x if it is inside the interval, or else a number that is well inside.
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
	case s.low == 0: // the pole: the root may be closer to it by any power of two
		return s.high / T(math.Ldexp(1, min(1<<s.halvings, 64)))
	case s.high == 0:
		return s.low / T(math.Ldexp(1, min(1<<s.halvings, 64)))
	}
	return s.low/2 + s.high/2
}

// mean returns the arithmetic mean of two positive numbers, or the geometric one if they are far apart.
func mean[T scalar.Real](a, b T) T {
	if b > 4*a {
		return T(math.Sqrt(float64(a)) * math.Sqrt(float64(b)))
	}
	return a/2 + b/2
}

// quadratic returns the root of c·x² − a·x + b that lies between the poles of the equation it comes
// from; for the last root, the one behind both.
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
