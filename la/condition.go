package la

import (
	"math"
	"sync"

	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/mat"
)

// norm1Estimate is [norm1EstimateOf] for a symmetric matrix, which apply
// multiplies a vector by.
func norm1Estimate(n int, apply func(x []float64) error) float64 {
	return norm1EstimateOf(n, apply, apply)
}

// norm1EstimateOf estimates the 1-norm of an n×n matrix B in at most eleven
// products: apply overwrites x with B·x, and applyTrans with Bᵀ·x. The estimate
// is a lower bound but for rounding. It is +Inf if a product is not finite, for
// B is then out of range, and NaN if one fails. Exchanging the two functions
// gives the ∞-norm.
//
// Reference: N. J. Higham, FORTRAN codes for estimating the one-norm of a real
// or complex matrix, ACM TOMS 14 (1988), algorithm 4.1; LAPACK xLACN2.
func norm1EstimateOf(n int, apply, applyTrans func(x []float64) error) float64 {
	if n == 0 {
		return 0
	}
	x, sign := make([]float64, n), make([]float64, n)
	broken := math.Inf(1) // what to return when there is no product
	product := func(apply func(x []float64) error) bool {
		if apply(x) != nil {
			broken = math.NaN()
			return false
		}
		s := sum(x)
		return s-s == 0
	}
	for i := range x {
		x[i] = 1 / float64(n)
	}
	if !product(apply) {
		return broken
	}
	if n == 1 {
		return math.Abs(x[0])
	}
	estimate := sum(x)
	signs(sign, x)
	copy(x, sign)
	if !product(applyTrans) {
		return broken
	}
	largest := argmax(x)
	for range 4 {
		clear(x)
		x[largest] = 1
		if !product(apply) {
			return broken
		}
		former := estimate
		estimate = sum(x)
		if !signs(sign, x) || estimate <= former {
			// The signs repeat, or the estimate no longer grows.
			estimate = max(estimate, former)
			break
		}
		copy(x, sign)
		if !product(applyTrans) {
			return broken
		}
		last := largest
		largest = argmax(x)
		if math.Abs(x[largest]) == math.Abs(x[last]) {
			break
		}
	}
	// A vector of alternating growing elements defeats the matrices for which
	// the iteration stops too soon.
	for i := range x {
		x[i] = 1 + float64(i)/float64(n-1)
		if i%2 == 1 {
			x[i] = -x[i]
		}
	}
	if !product(apply) {
		return broken
	}
	return max(estimate, 2*sum(x)/float64(3*n))
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

// norms is the 1-norm of a matrix, and that of its inverse, which is estimated once, when it is
// first needed.
type norms struct {
	of      float64
	inverse *estimated
}

func newNorms(of float64) norms { return norms{of, new(estimated)} }

// cond returns the condition number, given what estimates the norm of the inverse.
func (n norms) cond(inverse func() float64) float64 { return n.of * n.inverse.get(inverse) }

// estimated is a number that is estimated once.
type estimated struct {
	mu    sync.Mutex
	value float64 // 0: not yet
}

// get returns it. A NaN, for an estimate that has failed, is not kept. A nil x keeps nothing.
func (x *estimated) get(estimate func() float64) float64 {
	if x == nil {
		return estimate()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.value == 0 || x.value != x.value {
		x.value = estimate()
	}
	return x.value
}

// nearSingular returns a mat.Condition if the upper triangle R of order n in r
// shows that no digit of a solution with A can be relied on, where the condition
// number of A is that of R to the power given. It is what the condition number
// is at least, or +Inf if R cannot be divided by: it has a zero on the
// diagonal, or is out of range. A finite one that overflows is cut off.
//
// What shows it is a diagonal element of at most 8·ε of another one or of one in
// its own column: that column depends on those before it but for rounding. Of
// random matrices with such a column QR left 2 to 6·ε of it in the middle, of
// up to 20000 rows, in float64 and float32; 8.4·ε at most. Only columns with
// small diagonal elements are read.
//
// A matrix that is a product of thinner ones has rounding in all columns, and more of it: for
// n = 1000 the least diagonal element was 300·ε of the largest one, and of Cholesky's 70000·ε,
// where the estimated condition number was beyond 1/ε (20 random matrices each). So if there is
// an element, or for Cholesky the square of one, of at most √(8·ε), estimate is asked, unless it is nil: it estimates the condition
// number of A, which is compared with gonum's mat.ConditionTolerance, about 1/ε.
func nearSingular[T Element](r *blocked.Matrix[T], n int, power float64, estimate func() float64) error {
	diagonal, lo, hi := diagonalOf(r, n)
	if lo == 0 || hi-hi != 0 { // hi is NaN if one of them is
		return mat.Condition(math.Inf(1))
	}
	limit, inRange := 1/(8*epsilon[T]()), true
	cond := math.Pow(hi/lo, power)
	doubtful := cond >= math.Sqrt(limit) && estimate != nil
	if cond < limit {
		cond, inRange = dependence(r, diagonal, hi, power)
	}
	if inRange && cond < limit && doubtful {
		if all := estimate(); all*epsilon[T]() > mat.ConditionTolerance*0x1p-53 { // not NaN
			return mat.Condition(min(all, math.MaxFloat64))
		}
	}
	switch {
	case !inRange:
		return mat.Condition(math.Inf(1))
	case cond < limit:
		return nil
	}
	return mat.Condition(min(cond, math.MaxFloat64))
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

// usable returns errDependent if the factor R in float32 of a matrix of order n shows that
// rounded to float32 the matrix is singular to working precision. Refinement would still
// find a solution where one exists, and nobody would learn that it is one of many. Columns
// that differ in size are no reason: refinement does not mind.
func usable(r *blocked.Matrix[float32], n int, power float64) error {
	diagonal, _, hi := diagonalOf(r, n)
	if ratio, inRange := dependence(r, diagonal, hi, power); inRange && ratio < 1/(8*epsilon[float32]()) {
		return nil
	}
	return errDependent
}
