package la

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/mat"
)

// norm1EstimateOf estimates the 1-norm of A⁻¹ in at most ten passes. The vectors that it
// solves for have norm unit, and so has what it returns; that is a lower bound but for
// rounding. It is +Inf if a solution is not finite, for A⁻¹ is then out of range. Exchanging the
// two functions of v gives the ∞-norm.
//
// Reference: N. J. Higham, FORTRAN codes for estimating the one-norm of a real
// or complex matrix, ACM TOMS 14 (1988), algorithm 4.1; LAPACK xLACN2.
func norm1EstimateOf(v inverse, unit float64) (float64, error) {
	n := v.n
	if n == 0 {
		return 0, nil
	}
	vectors := make([]float64, 3*n)
	x, sign, alternating := vectors[:n], vectors[n:2*n], vectors[2*n:]
	for i := range x {
		x[i] = unit / float64(n)
	}
	if n == 1 {
		ok, err := finiteAfter(v.apply, x)
		if !ok {
			return math.Inf(1), err
		}
		return math.Abs(x[0]), nil
	}
	// A vector of alternating growing elements defeats the matrices for which
	// the iteration stops too soon.
	for i := range alternating {
		alternating[i] = unit * (1 + float64(i)/float64(n-1))
		if i%2 == 1 {
			alternating[i] = -alternating[i]
		}
	}
	if ok, err := finiteAfter(v.apply, x, alternating); !ok {
		return math.Inf(1), err
	}
	least := 2 * (sum(alternating) / float64(3*n))
	estimate := sum(x)
	signs(sign, x)
	scaledSigns(x, sign, unit)
	if ok, err := finiteAfter(v.transposed, x); !ok {
		return math.Inf(1), err
	}
	largest := argmax(x)
	for range 4 {
		clear(x)
		x[largest] = unit
		if ok, err := finiteAfter(v.apply, x); !ok {
			return math.Inf(1), err
		}
		former := estimate
		estimate = sum(x)
		if !signs(sign, x) || estimate <= former {
			// The signs repeat, or the estimate no longer grows.
			estimate = max(estimate, former)
			break
		}
		scaledSigns(x, sign, unit)
		if ok, err := finiteAfter(v.transposed, x); !ok {
			return math.Inf(1), err
		}
		last := largest
		largest = argmax(x)
		if math.Abs(x[largest]) == math.Abs(x[last]) {
			break
		}
	}
	return max(estimate, least), nil
}

// finiteAfter solves for the vectors, and reports whether the solutions are finite.
func finiteAfter(solve func(x ...[]float64) error, vectors ...[]float64) (bool, error) {
	if err := solve(vectors...); err != nil {
		return false, err
	}
	for _, x := range vectors {
		if s := sum(x); s-s != 0 {
			return false, nil
		}
	}
	return true, nil
}

// scaledSigns writes unit times the signs to x.
func scaledSigns(x, sign []float64, unit float64) {
	for i, s := range sign {
		x[i] = unit * s
	}
}

// sum returns the 1-norm of x.
func sum(x []float64) (s float64) {
	for _, v := range x {
		s += math.Abs(v)
	}
	return s
}

// signs writes the signs of x to sign and reports whether one has changed.
func signs(sign, x []float64) (changed bool) {
	for i, v := range x {
		s := math.Copysign(1, v)
		if s != sign[i] {
			sign[i], changed = s, true
		}
	}
	return changed
}

// argmax returns the index of the element of largest magnitude.
func argmax(x []float64) int {
	k := 0
	for i, v := range x {
		if math.Abs(v) > math.Abs(x[k]) {
			k = i
		}
	}
	return k
}

// unsolvable reports whether err is that of factors that cannot be divided by: a
// mat.Condition of +Inf.
func unsolvable(err error) bool {
	c, ok := err.(mat.Condition)
	return ok && math.IsInf(float64(c), 1)
}

// unset reports whether err leaves no solution: it is an error, and not a finite mat.Condition.
func unset(err error) bool {
	_, ok := err.(mat.Condition)
	return err != nil && !ok || unsolvable(err)
}

// norms is what is known of the size of a square matrix A, and its condition number, which is
// estimated once, when it is first needed.
type norms struct {
	of      float64   // 1-norm
	columns []float64 // 1-norms of the columns; nil if they are not to be scaled
	// bound is one of the condition number, scaled that of A with its columns scaled.
	plain, bound, scaled *estimated
}

func newNorms(columns []float64) norms {
	n := norms{columns: columns, plain: new(estimated), bound: new(estimated), scaled: new(estimated)}
	for _, v := range columns {
		n.of = max(n.of, v)
	}
	return n
}

// inverse is what solves with A, of order n: apply overwrites each x with A⁻¹·x, and transposed
// with A⁻ᵀ·x. If root is not nil it overwrites x with B·x in half the time, where A⁻¹ = B·Bᵀ.
type inverse struct {
	n                       int
	apply, transposed, root func(x ...[]float64) error
}

// scaled returns the inverse of A·D, of which each column is as long as the longest of A, from the
// norms of the columns.
func (v inverse) scaled(of float64, columns []float64) inverse {
	shorten := func(vectors [][]float64) {
		for _, x := range vectors {
			for i := range x {
				x[i] *= columns[i] / of
			}
		}
	}
	return inverse{n: v.n, apply: func(x ...[]float64) error {
		err := v.apply(x...)
		shorten(x)
		return err
	}, transposed: func(x ...[]float64) error {
		shorten(x)
		return v.transposed(x...)
	}}
}

// unit returns a power of two that vectors are to have for solutions with a matrix of the
// norm given: so small, in T, that a solution overflows only if the condition number is far beyond 1/ε.
func unit[T Element](norm float64) float64 {
	far, least := 500, -1000
	if epsilon[T]() > 0x1p-53 {
		far, least = 60, -100
	}
	return math.Ldexp(1, max(exponent(norm)-far, least))
}

// condition estimates ‖A‖·‖A⁻¹‖ in the 1-norm, where A has the norm given. It is +Inf if a solution
// is out of range.
func condition[T Element](norm float64, v inverse) (float64, error) {
	if norm-norm != 0 {
		return math.Inf(1), nil
	}
	unit := unit[T](norm)
	inverse, err := norm1EstimateOf(v, unit)
	return norm / unit * inverse, err
}

// bound returns an upper bound of the condition number in the 1-norm of A, which has the norm given.
// It is far above for most matrices, but far below 1/ε in float64 for all that are well conditioned,
// and costs one pass over the factors, or half of one: solutions x for a few random r.
//
// Be u the direction that A⁻¹ stretches most, so that ‖x‖ ≥ ‖A⁻¹‖·|uᵀr| in the 2-norm. The
// density of uᵀr is at most 1/√2 where the elements of r are uniform in [−1, 1], whatever u is.
// So ‖A⁻¹‖ > ‖x‖/t for one of them with a probability of √2·t at most, and for all of them,
// by which t is chosen, of 10⁻⁶.
//
// Reference: J. D. Dixon, Estimating extremal eigenvalues and condition numbers of matrices, SIAM J.
// Numer. Anal. 20 (1983); for the density M. Rudelson and R. Vershynin, Small ball probabilities for
// linear images of high-dimensional distributions, IMRN (2015).
func bound[T Element](norm float64, v inverse) (float64, error) {
	if norm-norm != 0 || epsilon[T]() > 0x1p-53 {
		return math.Inf(1), nil
	}
	root := math.Sqrt(float64(v.n))
	if v.root != nil {
		length, err := longest(v.n, 2, unit[T](math.Sqrt(norm)), v.root)
		length /= 7e-4
		if bound := norm * root * length * length; err != nil || bound <= tolerance[T]() {
			return bound, err
		}
	}
	length, err := longest(v.n, 1, unit[T](norm), v.apply)
	return norm * root * (length / 7e-7), err
}

// longest returns the largest 2-norm of solutions for some random vectors, relative to unit, which
// is what the vectors are multiplied by. +Inf stands for one that is not finite.
func longest(n, count int, unit float64, solve func(x ...[]float64) error) (float64, error) {
	rnd := rand.New(rand.NewPCG(0x243f6a8885a308d3, uint64(n)))
	all, vectors := make([]float64, count*n), make([][]float64, count)
	for i := range all {
		all[i] = unit * (2*rnd.Float64() - 1)
	}
	for i := range vectors {
		vectors[i] = all[i*n : (i+1)*n]
	}
	if ok, err := finiteAfter(solve, vectors...); !ok {
		return math.Inf(1), err
	}
	length := 0.0
	for _, x := range vectors {
		top, s := math.Abs(x[argmax(x)]), 0.0
		for _, v := range x {
			s += v / top * (v / top)
		}
		length = max(length, top/unit*math.Sqrt(s))
	}
	return length, nil
}

// cond returns the condition number of A.
func cond[T Element](k norms, v inverse) (float64, error) {
	return k.plain.get(func() (float64, error) { return condition[T](k.of, v) })
}

// tolerance is the largest condition number of a matrix that is not singular to working precision:
// gonum's mat.ConditionTolerance, or what that is in float32.
func tolerance[T Element]() float64 { return mat.ConditionTolerance * 0x1p-53 / epsilon[T]() }

// judge returns a mat.Condition if A is singular to working precision: if its condition number is
// beyond the tolerance, and stays beyond a tenth of that when each column is scaled to norm 1, which
// makes it the least that it can be for any scale of the columns.
//
// No method here minds that scale. Columns of other units, or a diagonal matrix, have solutions with
// all their digits. It also makes the verdict one for all types and methods, and for all orders
// of rows and columns.
//
// Reference: A. van der Sluis, Condition numbers and equilibration of matrices, Numer. Math. 14 (1969).
func judge[T Element](k norms, v inverse) error { return judgeBy[T](k, v, tolerance[T]()) }

// judgeBy is judge by another tolerance.
func judgeBy[T Element](k norms, v inverse, tolerance float64) error {
	all, err := k.bound.get(func() (float64, error) { return bound[T](k.of, v) })
	if err == nil && !(all <= tolerance) {
		all, err = cond[T](k, v)
	}
	if err != nil || all <= tolerance {
		return err
	}
	if k.columns != nil {
		least, err := k.scaled.get(func() (float64, error) { return condition[T](k.of, v.scaled(k.of, k.columns)) })
		if err != nil || least <= tolerance/10 {
			return err
		}
	}
	return mat.Condition(min(all, math.MaxFloat64))
}

// estimated is a number that is estimated once.
type estimated struct {
	mu    sync.Mutex
	value float64 // 0: not yet
}

// get returns it, or the error of the estimate, which then is not kept. A nil x keeps nothing.
func (x *estimated) get(estimate func() (float64, error)) (float64, error) {
	if x == nil {
		return estimate()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.value == 0 {
		v, err := estimate()
		if err != nil {
			return v, err
		}
		x.value = v
	}
	return x.value, nil
}

// nearSingular returns a mat.Condition if A is singular to working precision, where r holds its
// upper triangular factor R, the condition number of which to the power given is that of A. It is
// +Inf if R cannot be divided by: it has a zero on the diagonal, or is out of range. A finite one
// that overflows is cut off.
//
// A column that depends on those before it but for rounding shows in R: its diagonal element is at
// most 8·ε of another one in its column. Of random matrices with such a column QR left 2 to 6·ε of
// it in the middle, of up to 20000 rows, in float64 and float32; 8.4·ε at most. Such a matrix can
// be just below the tolerance of the condition number, which verdict compares. If R is turned, its
// columns are mixed from rows of A and alike in size, so that it can be one of another column.
func nearSingular[T Element](r *blocked.Matrix[T], n int, power float64, turned bool, verdict func() error) error {
	diagonal, lo, hi := diagonalOf(r, n)
	if lo == 0 || hi-hi != 0 { // hi is NaN if one of them is
		return mat.Condition(math.Inf(1))
	}
	ratio, inRange := dependence(r, diagonal, hi, power)
	if turned {
		ratio = max(ratio, hi/lo)
	}
	switch {
	case !inRange:
		return mat.Condition(math.Inf(1))
	case ratio >= 1/(8*epsilon[T]()):
		return mat.Condition(min(ratio, math.MaxFloat64))
	}
	return verdict()
}

// undivided returns the mat.Condition of an upper triangular factor that cannot be divided by.
func undivided[T Element](r *blocked.Matrix[T], n int) error {
	if err := nearSingular(r, n, 1, false, func() error { return nil }); unsolvable(err) {
		return err
	}
	return nil
}

// diagonalOf returns the magnitudes of the first n elements of a's diagonal, the least and
// the largest of them. It reads each once: the tiles of a distributed matrix are fetched.
func diagonalOf[T Element](a *blocked.Matrix[T], n int) (diagonal []float64, lo, hi float64) {
	diagonal, lo = make([]float64, n), math.Inf(1)
	for i := range diagonal {
		diagonal[i] = math.Abs(float64(a.At(i, i)))
		lo, hi = min(lo, diagonal[i]), max(hi, diagonal[i])
	}
	return diagonal, lo, hi
}

// dependence returns the largest ratio of an element above the diagonal to the diagonal
// element of its column, to the power given, as far as diagonal elements are small against
// hi, the largest; it stops at a column that depends on those before it but for rounding.
// It reports whether all elements that it has seen are finite.
func dependence[T Element](r *blocked.Matrix[T], diagonal []float64, hi, power float64) (ratio float64, inRange bool) {
	limit := 1 / (8 * epsilon[T]())
	for j := 0; j < len(diagonal) && ratio < limit; j++ {
		d := diagonal[j]
		if math.Pow(hi/d, power) < math.Sqrt(limit) {
			continue
		}
		for i := range j {
			s := math.Abs(float64(r.At(i, j)))
			if s-s != 0 {
				return ratio, false
			}
			ratio = max(ratio, math.Pow(s/d, power))
		}
	}
	return ratio, true
}

// usable returns errDependent if the factors in float32 of A, of order n, show that rounded to
// float32 it is singular to working precision, for its size: r is the triangular one. Refinement
// would still find a solution where one exists, and nobody would learn that it is one of many.
// Columns that differ in size are no reason: refinement does not mind.
//
// Rounding leaves of a singular matrix one whose condition number grows with n, as do those of
// random matrices, which can be refined: so the tolerance grows as well.
func usable(r *blocked.Matrix[float32], n int, power float64, k norms, v inverse) error {
	diagonal, _, hi := diagonalOf(r, n)
	if ratio, inRange := dependence(r, diagonal, hi, power); !inRange || ratio >= 1/(8*epsilon[float32]()) {
		return errDependent
	}
	err := judgeBy[float32](k, v, tolerance[float32]()*max(8, float64(n)/16))
	if _, singular := err.(mat.Condition); singular {
		return errDependent
	}
	return err
}
