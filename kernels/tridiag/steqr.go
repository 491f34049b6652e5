package tridiag

import (
	"math"
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
)

// sweepsPerValue is how many sweeps an eigenvalue may take on average, as in LAPACK.
const sweepsPerValue = 30

// ConvergenceError says that the iteration for a block of a matrix has not converged.
type ConvergenceError struct {
	Found, Order int // eigenvalues that were found, and the order of the block
}

func (e *ConvergenceError) Error() string {
	return "tridiag: the QR iteration has not converged"
}

// Final says that another attempt would find the same: see graph.Failure.
func (e *ConvergenceError) Final() bool { return true }

// Steqr overwrites d with the eigenvalues of T, in ascending order. It multiplies q from the left by the matrix whose
// rows are the eigenvectors of T, so an identity becomes the eigenvectors. d has n elements and e has n−1; e is
// overwritten. q has n rows of any length. rotate may be nil.
//
// Elements must be finite. If the iteration does not converge, the error is a *ConvergenceError, and the results are
// undefined.
//
// Reference: LAPACK xSTEQR.
func Steqr[T scalar.Real](d, e []T, q Matrix[T], rotate Rotations[T]) error {
	return steqr(d, e, q, make([]T, 2*len(d)), rotate)
}

// steqr is Steqr with memory for 2·n elements of rotations.
func steqr[T scalar.Real](d, e []T, q Matrix[T], cs []T, rotate Rotations[T]) error {
	n := len(d)
	if n == 2 && !negligible(d, e, 0) { // without the iteration around it
		var c, s T
		d[0], d[1], c, s = laev2(d[0], e[0], d[1])
		rotate.Apply(q, 0, 1, append(cs[:0], c, s))
		sortRows(d, q)
		return nil
	}
	t := iteration[T]{left: sweepsPerValue * n, eps: scalar.Eps[T](), least: leastCoupling[T](), rotate: rotate, cs: cs}
	for first := 0; first < n; {
		last := first
		for last < n-1 && !negligible(d, e, last) {
			last++
		}
		if last < n-1 {
			e[last] = 0
		}
		if last > first {
			t.d, t.e, t.q = d[first:last+1], e[first:last], q.Block(first, 0, last+1-first, q.Cols)
			if err := t.run(); err != nil {
				return err
			}
		}
		first = last + 1
	}
	sortRows(d, q)
	return nil
}

// negligible reports whether e(i) couples its neighbours by less than rounding does. It also reports true for an e(i)
// so small that rotations with it are not accurate.
func (t *iteration[T]) negligible(i int) bool {
	return negligible(t.d, t.e, i) || math.Abs(float64(t.e[i])) <= scalar.SafeMin[T]()/scalar.Eps[T]()
}

// negligible reports whether e(i) couples its neighbours by less than rounding does.
func negligible[T scalar.Real](d, e []T, i int) bool {
	x := math.Abs(float64(e[i]))
	eps := scalar.Eps[T]()
	return x == 0 || x <= eps*math.Sqrt(math.Abs(float64(d[i])))*math.Sqrt(math.Abs(float64(d[i+1])))
}

// leastExact and mostExact are bounds of squares s for which s > ε²·|x·y| says what √s > ε·√|x|·√|y| does: if the product
// underflows s is large against it, and if it overflows s is small. There are no roots in it.
const leastExact, mostExact = 0x1p-900, 0x1p900

// iteration is the QL iteration for a block. No element of e is negligible when it begins.
type iteration[T scalar.Real] struct {
	d, e []T
	q    Matrix[T]
	left int // sweeps that it may still make

	reversed bool // the block's rows and columns are in reverse order

	eps, least float64 // bounds of what is negligible

	rotate Rotations[T]
	cs     []T // scratch for the rotations of a sweep
}

// run finds the eigenvalues. It begins at the end whose diagonal element is smaller, so that small eigenvalues of a
// graded matrix keep their accuracy. It scales the block, so that squares of its elements neither overflow nor
// underflow.
func (t *iteration[T]) run() error {
	scale := ScaleFor(t.d, t.e, Safe[T]())
	Multiply(t.d, scale)
	Multiply(t.e, scale)
	n := len(t.d)
	if t.reversed = abs(t.d[n-1]) < abs(t.d[0]); t.reversed {
		slices.Reverse(t.d)
		slices.Reverse(t.e)
		for i := range n / 2 {
			Swap(t.q.Row(i), t.q.Row(n-1-i))
		}
	}
	err := t.iterate()
	Multiply(t.d, 1/scale)
	return err
}

// iterate finds the eigenvalues from the first to the last one, by QL steps.
func (t *iteration[T]) iterate() error {
	d, e, eps, least := t.d, t.e, t.eps, t.least
	for l, m := 0, t.split(0); l < len(d); {
		if m < len(d)-1 {
			e[m] = 0
		}
		if m == l {
			l++
			m = t.split(l)
			continue
		}
		if m == l+1 {
			first, second, step := l, m, 1
			if t.reversed { // so that vectors get the signs that they have in LAPACK
				first, second, step = m, l, -1
			}
			var c, s T
			d[first], d[second], c, s = laev2(d[first], e[l], d[second])
			e[l] = 0
			t.rotate.Apply(t.q, first, step, append(t.cs[:0], c, s))
			l += 2
			m = t.split(l)
			continue
		}
		if t.left--; t.left < 0 {
			return &ConvergenceError{l, len(d)}
		}
		p := d[l]
		g := (d[l+1] - p) / (2 * e[l])
		g = d[m] - p + e[l]/(g+sign(hypot(g, 1), g))
		s, c := T(1), T(1)
		p = 0
		cs, next := t.cs[:0], m // next is the first negligible element after the step
		for i := m - 1; i >= l; i-- {
			f, b := s*e[i], c*e[i]
			var r T
			c, s, r = Rotation(g, f)
			if i != m-1 {
				e[i+1] = r
			}
			g = d[i+1] - p
			x := (d[i]-g)*s + 2*c*b
			p = s * x
			d[i+1] = g + p
			g = c*x - b
			cs = append(cs, c, s)
			if i != m-1 && !couples(r, d[i+1], d[i+2], eps, least) && t.negligible(i+1) {
				next = i + 1
			}
		}
		t.rotate.Apply(t.q, m, -1, cs)
		d[l] -= p
		e[l] = g
		if m = next; !couples(g, d[l], d[l+1], eps, least) && t.negligible(l) {
			m = l
		}
	}
	return nil
}

// split returns the first element of e from l on that is negligible, or the last index of d.
func (t *iteration[T]) split(l int) int {
	d, e, eps, least := t.d, t.e, t.eps, t.least
	for m := l; m < len(e); m++ {
		if !couples(e[m], d[m], d[m+1], eps, least) && t.negligible(m) {
			return m
		}
	}
	return len(e)
}

// couples reports whether the element e is not negligible beside x and y on the diagonal, as far as squares can tell.
func couples[T scalar.Real](e, x, y T, eps, least float64) bool {
	s := float64(e) * float64(e)
	return s > least && s < mostExact && s > eps*eps*math.Abs(float64(x)*float64(y))
}

// leastCoupling returns the bound from which on [couples] can tell: leastExact, or the square of the least element that
// is not negligible if that is more.
func leastCoupling[T scalar.Real]() float64 { return scalar.Pick[T](0x1p-204, leastExact) }

// Rotation returns c, s and r with c·g + s·f = r and c·f − s·g = 0; c is not negative, so r has the sign of g. It scales its
// operands to the middle of the range of float64, so that c and s are accurate for the smallest numbers, too.
//
// Reference: LAPACK xLARTG.
func Rotation[T scalar.Real](g, f T) (c, s, r T) {
	x, y := float64(g), float64(f)
	if s := x*x + y*y; s > leastRotated && s < mostRotated && x*y != 0 {
		r := math.Copysign(math.Sqrt(s), x)
		return T(x / r), T(y / r), T(r)
	}
	return scaledRotation(g, f)
}

// scaledRotation is Rotation for any operands. It stands alone so that the other one is compiled into loops.
func scaledRotation[T scalar.Real](g, f T) (c, s, r T) {
	if f == 0 {
		return 1, 0, g
	}
	if g == 0 {
		return 0, sign(1, f), T(abs(f))
	}
	x, y := float64(g), float64(f)
	_, exp := math.Frexp(max(math.Abs(x), math.Abs(y)))
	// This is the root of the factor, since the factor itself may be denormal.
	scale := math.Ldexp(1, exp/2)
	x, y = x/scale/scale, y/scale/scale
	h := math.Copysign(math.Sqrt(x*x+y*y), x)
	return T(x / h), T(y / h), T(h * scale * scale)
}

// leastRotated and mostRotated are bounds of sums of squares that need no scaling.
const leastRotated, mostRotated = 0x1p-800, 0x1p800

// hypot returns √(a²+b²) without overflow.
func hypot[T scalar.Real](a, b T) T {
	x, y := float64(a), float64(b)
	if s := x*x + y*y; s > leastRotated && s < mostRotated {
		return T(math.Sqrt(s))
	}
	return T(math.Hypot(x, y))
}

// sign returns the absolute value of a with the sign of b.
func sign[T scalar.Real](a, b T) T { return T(math.Copysign(float64(a), float64(b))) }

// sortRows sorts d in ascending order and moves the rows of q with it.
func sortRows[T scalar.Real](d []T, q Matrix[T]) {
	for i := range d {
		k := i
		for j := i + 1; j < len(d); j++ {
			if d[j] < d[k] {
				k = j
			}
		}
		if k != i {
			d[i], d[k] = d[k], d[i]
			Swap(q.Row(i), q.Row(k))
		}
	}
}

// Swap exchanges the elements of two vectors.
func Swap[T any](x, y []T) {
	for i := range x {
		x[i], y[i] = y[i], x[i]
	}
}
