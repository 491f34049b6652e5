package bidiag

import (
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
)

// dqds is an iteration that finds singular values without vectors. It computes in float64, whose range holds the
// squares of all float32 numbers. q and e are the squares of the elements of B. A step with the shift s is
//
//	d = q(0) − s;  q'(i) = d + e(i),  e'(i) = e(i)·q(i+1)/q'(i),  d = d·q(i+1)/q'(i) − s.
//
// q' and e' belong to a matrix whose squared singular values are less by s. If s is not larger than the least squared
// value, no d is negative. A step subtracts nothing but s, so all values then keep a small relative error. Steps make
// e(n−2) tend to zero, and q(n−1) is then the least squared value.
//
// References: Fernando and Parlett, Accurate singular values and differential qd algorithms (1994); Parlett and
// Marques, An implementation of the dqds algorithm (LAWN 155, 2000), which describes the choice of shifts; LAPACK
// xLASQ1 to xLASQ6.
type dqds struct {
	q, e   []float64 // of the present matrix
	q1, e1 []float64 // of the matrix before the latest step; the next step overwrites them
	values []float64 // squared values that were found, in any order
	left   int       // steps that may still be made
	tol    float64   // square of the relative accuracy
}

// leastSafe is the bound below which a number may have lost bits to underflow, with a wide margin. The iteration gives
// up if a number is less than that and not negligible.
const leastSafe = 0x1p-900

// topExponent is the binary exponent to which the largest element is scaled. Its square is 2⁹⁶⁰, which leaves room for
// sums below the limit of float64, 2¹⁰²⁴, and keeps squares of small elements as far from underflow as possible.
const topExponent = 480

// stepsPerValue is the number of steps that a value may take on average, as in LAPACK's xLASQ2.
const stepsPerValue = 30

// block is rows lo to hi−1 of the present matrix. Their squared singular values are those of B less sigma + rest.
type block struct {
	lo, hi int
	sigma  float64
	rest   float64 // what rounding has taken from sigma
}

// pivots is what a step tells about the values of d: the least of all, of all but the last one, and of all but the
// last two; and the last three, d the very last.
type pivots struct {
	min, min1, min2 float64
	d, d1, d2       float64
	at              int // row of the least; −1 if it is not known
}

// valuesAlone overwrites d with the singular values, in descending order, and reports true. It leaves d as it is and
// reports false for orders less than 3, if an element of d is zero or tiny beside the largest element, and if the
// iteration gives up.
func valuesAlone[T scalar.Real](d, e []T) bool {
	_, ok := stepsOf(d, e)
	return ok
}

// stepsOf is valuesAlone. It also returns the number of steps that it made.
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
	_, mostExponent := math.Frexp(float64(most))
	scaleExponent := topExponent - mostExponent
	// The scale and its reciprocal are normal numbers.
	if most == 0 || scaleExponent > 1022 || scaleExponent < -1022 {
		return 0, false
	}
	scale := math.Ldexp(1, scaleExponent)
	memory := make([]float64, 5*n)
	s := dqds{q: memory[:n], e: memory[n : 2*n], q1: memory[2*n : 3*n], e1: memory[3*n : 4*n],
		values: memory[4*n : 4*n],
		left:   stepsPerValue * n}
	s.tol = 100 * scalar.Eps[T]() * scalar.Eps[T]() // (10·ε)²
	for i, x := range d {
		x := float64(x) * scale
		if s.q[i] = x * x; s.q[i] < leastSafe {
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
	if s.values[0] < leastSafe {
		return 0, false
	}
	for i, x := range s.values {
		d[n-1-i] = T(math.Sqrt(x) / scale)
	}
	return stepsPerValue*n - s.left, true
}

// run finds values of b, from the last row on. It ends when b is empty or falls into two blocks. In the latter case it
// leaves the second one in b and returns the first one. It reports false if the iteration has to give up.
func (s *dqds) run(b *block) (other block, ok bool) {
	if i := s.cut(*b); i > 0 {
		return s.split(b, i), true
	}
	if s.q[b.lo]*1.5 < s.q[b.hi-1] { // so that small elements are at the end
		slices.Reverse(s.q[b.lo:b.hi])
		slices.Reverse(s.e[b.lo : b.hi-1])
	}
	var p pivots
	known := 0 // how many of p.d, p.d1 and p.d2 belong to the last rows of b
	for {
		known -= s.deflate(b, &p)
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
		var cut bool
		if p, shift, cut, ok = s.steps(*b, shift); !ok {
			return block{}, false
		}
		known = 3
		// rest takes up what the sum loses to rounding.
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

// deflate takes the last rows off b as long as the last element is a value of b, and returns their number. p becomes
// what the latest step tells about the rows that are left.
func (s *dqds) deflate(b *block, p *pivots) (rows int) {
	for ; b.hi > b.lo; rows++ {
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
		*p = pivots{min: p.min1, min1: p.min2, d: p.d1, d1: p.d2, at: at}
	}
	return rows
}

// steps makes a step with the given shift or, where that is too large, the first smaller one that it tries. It returns
// the results of [dqds.step] and that shift. It reports false if the iteration has to give up.
func (s *dqds) steps(b block, shift float64) (p pivots, used float64, cut, ok bool) {
	for try := 0; ; try++ {
		if s.left--; s.left < 0 {
			return p, 0, false, false
		}
		p, cut, ok = s.step(b, shift)
		if ok {
			return p, shift, cut, true
		}
		switch {
		case shift == 0:
			return p, 0, false, false // out of range
		case try == 0 && p.min1 > 0 && p.min < 0: // only the last d is negative
			shift = max((shift+p.min)*(1-4*scalar.Eps[float64]()), 0)
		case try < 3:
			shift /= 4
		default:
			shift = 0
		}
	}
}

// cut returns the first row of the second block if b falls into two, or 0.
func (s *dqds) cut(b block) int {
	for i := b.hi - 2; i >= b.lo; i-- {
		if s.e[i] <= s.tol*b.sigma {
			return i + 1
		}
	}
	return 0
}

// split leaves the rows from i on in b and returns the rows before. It copies these to q1 and e1: the two pairs of
// slices change places with each step on b, and the block has to be the same in both until its own steps begin.
func (s *dqds) split(b *block, i int) block {
	other := *b
	other.hi, b.lo = i, i
	copy(s.q1[other.lo:i], s.q[other.lo:i])
	copy(s.e1[other.lo:i], s.e[other.lo:i])
	return other
}

// found appends the squared value of B that belongs to the value x of b.
func (s *dqds) found(b block, x float64) { s.values = append(s.values, b.sigma+(x+b.rest)) }

// pair appends both squared values of a block of two rows.
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

// step computes q1 and e1 of b from q and e, by a step with a shift. ok is false if a d is negative or out of range,
// or if numbers have lost bits to underflow. cut reports that an element of e1 may be negligible.
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
	floor := max(small, leastSafe)
	for i := range n - 1 {
		p.d2, p.d1 = p.d1, d
		p.min2, p.min1 = p.min1, p.min
		if e[i] <= s.tol*d { // without e(i), the values are the same within their accuracy
			q1[i], e1[i] = d, 0
			d = q[i+1] - shift
			cut = true
		} else {
			x := d + e[i]
			t := q[i+1] / x
			if t < leastSafe && x*leastSafe > small {
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
	return p, cut, d >= 0 && d <= math.MaxFloat64 && (p.min >= leastSafe || b.sigma+shift > 0)
}

// rayleighLimit is the bound on sums of squares beyond which a quarter of the least d is the better shift: CNST1 of
// LAPACK's xLASQ4. rayleighMargin, its CNST3, enlarges a sum for the terms that were left out.
const rayleighLimit, rayleighMargin = .563, 1.05

// shift returns the shift of the next step of b: an estimate of the least squared value of b that is rarely too large.
// known is how many of p.d, p.d1 and p.d2 belong to the last rows of b.
func (s *dqds) shift(b block, p pivots, known int) float64 {
	n := b.hi
	q, e := s.q, s.e
	root := math.Sqrt
	if known == 3 && p.min == p.d && p.min1 == p.d1 && n-b.lo > 2 {
		// The two least d are the last ones. Gerschgorin's discs of the last three rows give a bound, as in
		// cases 2 and 3 of LAPACK's xLASQ4.
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
	// The shift is the Rayleigh quotient of the vector that belongs to the least d, less its residual. The
	// squares of the vector's elements follow from q and e before row p.at, and from q1 and e1 behind it.
	sum := 0.0
	for i, x := p.at-1, 1.0; i >= b.lo && x > sum/100; i-- {
		if x *= e[i] / q[i]; !(x < rayleighLimit) {
			return p.min / 4
		}
		sum += x
	}
	for i, x := p.at, 1.0; i < n-1 && x > sum/100; i++ {
		if x *= s.e1[i] / s.q1[i+1]; !(x < rayleighLimit) {
			return p.min / 4
		}
		sum += x
	}
	if sum *= rayleighMargin; sum < rayleighLimit {
		return p.min * (1 - root(sum)) / (1 + sum)
	}
	return p.min / 4
}
