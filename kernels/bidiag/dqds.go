package bidiag

import (
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
)

// dqds finds singular values alone, in float64, whose range the squares of float32 have too. It works on q and e, the
// squares of the elements of B, of which
//
//	d = q(0) − s;  q'(i) = d + e(i),  e'(i) = e(i)·q(i+1)/q'(i),  d = d·q(i+1)/q'(i) − s
//
// makes those of a matrix whose values have squares that are less by s. Nothing is subtracted but the shifts, so that
// all values have a small relative error as long as no d is negative. Then s is less than the least square, and
// e(n−2) tends to zero.
//
// Fernando and Parlett, Accurate singular values and differential qd algorithms (1994); Parlett and Marques, An
// implementation of the dqds algorithm (LAWN 155, 2000), of which the choice of shifts is a part. Reference: LAPACK
// xLASQ1 to xLASQ6.
type dqds struct {
	q, e, q1, e1 []float64 // now, and after the next step
	values       []float64 // squares that are found, in any order
	left         int       // steps that may still be made
	tol          float64   // square of the relative accuracy
}

// least is a number from which on products have all their bits. The iteration ends without a result where one is
// less, and not negligible.
const least = 0x1p-900

// block is rows lo to hi−1, of a matrix whose values have squares that are less by sigma than those of B.
type block struct {
	lo, hi int
	sigma  float64
	rest   float64 // that sigma has been rounded down by
}

// pivots are what a step knows about its d: the least of all, of all but the last, and of all but the last two;
// the last three; and where the least is, or −1.
type pivots struct {
	min, min1, min2, d, d1, d2 float64
	at                         int // row of the least
}

// valuesAlone overwrites d with the singular values, in descending order, if it finds them: not if an element of d is
// zero, or squares are out of the range of T. Otherwise d is unchanged.
func valuesAlone[T scalar.Real](d, e []T) bool {
	_, ok := stepsOf(d, e)
	return ok
}

// stepsOf is valuesAlone, and returns how many steps it has made.
func stepsOf[T scalar.Real](d, e []T) (steps int, ok bool) {
	n := len(d)
	if n < 3 {
		return 0, false
	}
	most := T(0)
	for _, x := range [][]T{d, e} {
		for _, y := range x {
			most = max(most, abs(y))
		}
	}
	// As large as sums of squares allow, for the sake of small ones.
	_, exp := math.Frexp(float64(most))
	up := 480 - exp
	if most == 0 || up > 1022 || up < -1022 {
		return 0, false
	}
	scale := math.Ldexp(1, up)
	f := make([]float64, 5*n)
	s := dqds{q: f[:n], e: f[n : 2*n], q1: f[2*n : 3*n], e1: f[3*n : 4*n], values: f[4*n : 4*n], left: 30 * n}
	s.tol = 100 * scalar.Eps[T]() * scalar.Eps[T]()
	for i, x := range d {
		x := float64(x) * scale
		if s.q[i] = x * x; s.q[i] < least {
			return 0, false
		}
	}
	for i, x := range e {
		x := float64(x) * scale
		s.e[i] = x * x
	}
	todo := []block{{hi: n}}
	for len(todo) > 0 {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for b.lo < b.hi {
			other, ok := s.run(&b)
			if !ok {
				return 0, false
			}
			if other.lo < other.hi {
				todo = append(todo, other)
			}
		}
	}
	slices.Sort(s.values)
	if s.values[0] < least {
		return 0, false
	}
	for i, x := range s.values {
		d[n-1-i] = T(math.Sqrt(x) / scale)
	}
	return 30*n - s.left, true
}

// run finds values of b from the end on, until b is empty, or it falls into two blocks: it returns the first one.
func (s *dqds) run(b *block) (other block, ok bool) {
	if i := s.cut(*b); i > 0 {
		return s.split(b, i), true
	}
	if s.q[b.lo]*1.5 < s.q[b.hi-1] { // so that small elements are at the end
		slices.Reverse(s.q[b.lo:b.hi])
		slices.Reverse(s.e[b.lo : b.hi-1])
	}
	var p pivots
	known := 0 // how many of the last d in p are those of the last rows
	for {
		for b.hi > b.lo {
			n := b.hi
			if n-b.lo > 1 && s.e[n-2] > s.tol*(b.sigma+s.q[n-1]) {
				break
			}
			s.found(*b, s.q[n-1])
			b.hi--
			at := -1
			if p.min1 == p.d1 {
				at = b.hi - 1
			} else if p.min1 == p.min {
				at = p.at
			}
			p = pivots{min: p.min1, min1: p.min2, d: p.d1, d1: p.d2, at: at}
			known--
		}
		switch b.hi - b.lo {
		case 0:
			return block{}, true
		case 2:
			s.pair(*b)
			b.hi = b.lo
			return block{}, true
		}
		shift := 0.0
		if known > 0 {
			shift = s.shift(*b, p, known)
		}
		cut := false
		for try := 0; ; try++ {
			if s.left--; s.left < 0 {
				return block{}, false
			}
			var next pivots
			next, cut, ok = s.step(*b, shift)
			if ok {
				p, known = next, 3
				break
			}
			switch {
			case shift == 0:
				return block{}, false // out of range
			case try == 0 && next.min1 > 0 && next.min < 0: // only the last one is negative
				shift = max((shift+next.min)*(1-4*scalar.Eps[float64]()), 0)
			case try < 3:
				shift /= 4
			default:
				shift = 0
			}
		}
		sum := b.sigma + (shift + b.rest)
		b.rest += shift - (sum - b.sigma)
		b.sigma = sum
		s.q, s.q1, s.e, s.e1 = s.q1, s.q, s.e1, s.e
		if cut {
			if i := s.cut(*b); i > 0 {
				return s.split(b, i), true
			}
		}
	}
}

// cut returns where b falls into two blocks, or 0.
func (s *dqds) cut(b block) int {
	for i := b.hi - 2; i >= b.lo; i-- {
		if s.e[i] <= s.tol*b.sigma {
			return i + 1
		}
	}
	return 0
}

// split leaves the rows from i on in b, and returns those before, which are the same in both generations from now
// on.
func (s *dqds) split(b *block, i int) block {
	other := *b
	other.hi, b.lo = i, i
	copy(s.q1[other.lo:i], s.q[other.lo:i])
	copy(s.e1[other.lo:i], s.e[other.lo:i])
	return other
}

// found appends a value of b.
func (s *dqds) found(b block, x float64) { s.values = append(s.values, b.sigma+(x+b.rest)) }

// pair appends both values of a block of two rows.
func (s *dqds) pair(b block) {
	q0, e0, q1 := s.q[b.lo], s.e[b.lo], s.q[b.lo+1]
	if q1 > q0 {
		q0, q1 = q1, q0
	}
	// x² − (q0+e0+q1)·x + q0·q1 = 0
	t := ((q0 - q1) + e0) / 2
	if t == 0 {
		s.found(b, q0)
		s.found(b, q1)
		return
	}
	r := q1 * (e0 / t)
	if r <= t {
		r = q1 * (e0 / (t * (1 + math.Sqrt(1+r/t))))
	} else {
		r = q1 * (e0 / (t + math.Sqrt(t)*math.Sqrt(t+r)))
	}
	x := q0 + (r + e0)
	s.found(b, x)
	s.found(b, q1*(q0/x))
}

// step makes a step of b with a shift. It reports false if a d is negative or out of range, or bits
// were lost in an underflow. cut says that an e may be
// negligible.
func (s *dqds) step(b block, shift float64) (p pivots, cut, ok bool) {
	n := b.hi - b.lo
	q, e := s.q[b.lo:b.hi], s.e[b.lo:b.hi]
	q1, e1 := s.q1[b.lo:b.hi], s.e1[b.lo:b.hi]
	e, q1, e1 = e[:len(q)], q1[:len(q)], e1[:len(q)]
	d := q[0] - shift
	p.min, p.at = d, b.lo
	if d < 0 && n > 1 {
		p.min1 = d
		return p, false, false
	}
	small := b.sigma * s.tol
	floor := max(small, least)
	for i := range n - 1 {
		p.d2, p.d1 = p.d1, d
		p.min2, p.min1 = p.min1, p.min
		if e[i] <= s.tol*d { // the values of B without it are the same
			q1[i], e1[i] = d, 0
			d = q[i+1] - shift
			cut = true
		} else {
			x := d + e[i]
			t := q[i+1] / x
			if t < least && x*least > small {
				return p, false, false
			}
			y := e[i] * t
			q1[i], e1[i] = x, y
			if y <= floor {
				if y > small || small == 0 {
					return p, false, false
				}
				cut = true
			}
			d = d*t - shift
		}
		if d < p.min {
			p.min, p.at = d, b.lo+i+1
			if d < 0 && i < n-2 {
				p.min1 = d
				return p, false, false
			}
		}
	}
	q1[n-1], p.d = d, d
	return p, cut, d >= 0 && d <= math.MaxFloat64 && (p.min >= least || b.sigma+shift > 0)
}

// shift returns a number that should be less than the least value, and close to it. known is how many of p.d, p.d1 and
// p.d2 are known.
func (s *dqds) shift(b block, p pivots, known int) float64 {
	n := b.hi
	q, e := s.q, s.e
	root := math.Sqrt
	if known == 3 && p.min == p.d && p.min1 == p.d1 && n-b.lo > 2 {
		// The last value is on its own: Gerschgorin's discs of the last three rows.
		b1, b2 := root(q[n-1])*root(e[n-2]), root(q[n-2])*root(e[n-3])
		a := q[n-2] + e[n-2]
		gap := a - p.d - (b1 + b2)
		if g := p.min2 - a - p.min2/4; g > 0 && g > b2 {
			gap = a - p.d - b2/g*b2
		}
		if gap > 0 && gap > b1 {
			return max(p.d-b1/gap*b1, p.min/2)
		}
		x := 0.0
		if p.d > b1 {
			x = p.d - b1
		}
		if a > b1+b2 {
			x = min(x, a-(b1+b2))
		}
		return max(x, p.min/3)
	}
	if p.at < b.lo {
		return p.min / 4
	}
	// The Rayleigh quotient of the vector that belongs to the least d, less its residual. Squares of the
	// vector's elements follow from this generation to one side, from the one before to the other.
	sum := 0.0
	for i, x := p.at-1, 1.0; i >= b.lo && x > sum/100; i-- {
		if x *= e[i] / q[i]; !(x < .563) {
			return p.min / 4
		}
		sum += x
	}
	for i, x := p.at, 1.0; i < n-1 && x > sum/100; i++ {
		if x *= s.e1[i] / s.q1[i+1]; !(x < .563) {
			return p.min / 4
		}
		sum += x
	}
	if sum *= 1.05; sum < .563 {
		return p.min * (1 - root(sum)) / (1 + sum)
	}
	return p.min / 4
}
