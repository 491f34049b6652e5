package la

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/mat"
)

// norm1EstimateOf estimates the 1-norm of A⁻¹ in at most ten solutions. It solves for vectors of
// norm unit and returns unit·‖A⁻¹‖₁, which but for rounding is a lower bound; +Inf if a solution
// is not finite, as A⁻¹ is then out of range. With the two functions of v exchanged it estimates
// the ∞-norm.
//
// Reference: N. J. Higham, FORTRAN codes for estimating the one-norm of a real or complex matrix,
// ACM TOMS 14 (1988), algorithm 4.1; LAPACK xLACN2.
func norm1EstimateOf(v inverse, unit float64) (float64, error) {
	n := v.n
	if n == 0 {
		return 0, nil
	}
	s := takeEstimation(3 * n)
	defer s.leave()
	x, sign, alternating := s.all[:n], s.all[n:2*n], s.all[2*n:3*n]
	clear(sign)
	for i := range x {
		x[i] = unit / float64(n)
	}
	if n == 1 {
		ok, err := finiteAfter(v.apply, s.of(x))
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
	if ok, err := finiteAfter(v.apply, s.of(x, alternating)); !ok {
		return math.Inf(1), err
	}
	least := 2 * (sum(alternating) / float64(3*n))
	estimate := sum(x)
	signs(sign, x)
	scaledSigns(x, sign, unit)
	if ok, err := finiteAfter(v.transposed, s.of(x)); !ok {
		return math.Inf(1), err
	}
	largest := argmax(x)
	for range 4 {
		clear(x)
		x[largest] = unit
		if ok, err := finiteAfter(v.apply, s.of(x)); !ok {
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
		if ok, err := finiteAfter(v.transposed, s.of(x)); !ok {
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

// estimation is the memory of an estimate. Estimates of small matrices are frequent, so it is used again.
type estimation struct {
	all     []float64
	vectors [2][]float64
}

var estimations = sync.Pool{New: func() any { return new(estimation) }}

// takeEstimation returns memory of at least n elements; leave returns it.
func takeEstimation(n int) *estimation {
	s := estimations.Get().(*estimation)
	if len(s.all) < n {
		s.all = make([]float64, n)
	}
	return s
}

func (s *estimation) leave() { estimations.Put(s) }

// of returns its arguments, one or two, as a slice for a function that may keep it.
func (s *estimation) of(vectors ...[]float64) [][]float64 {
	return s.vectors[:copy(s.vectors[:], vectors)]
}

// finiteAfter overwrites the vectors with their solutions, and reports whether these are finite.
func finiteAfter(solve func(x ...[]float64) error, vectors [][]float64) (bool, error) {
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

// isInfinite reports whether err is a mat.Condition of +Inf: the factors have no inverse.
func isInfinite(err error) bool {
	c, ok := err.(mat.Condition)
	return ok && math.IsInf(float64(c), 1)
}

// noSolution reports whether a solver that returned err has no solution: err is neither nil nor a
// finite mat.Condition.
func noSolution(err error) bool {
	_, ok := err.(mat.Condition)
	return err != nil && !ok || isInfinite(err)
}

// norms holds the 1-norms of a square matrix A, and its condition numbers, each of which is
// estimated when it is first needed.
type norms struct {
	norm1   float64   // of A
	columns []float64 // the 1-norms of the columns of A; nil if nothing may scale the columns
	*estimates
}

// estimates are the condition number of A, an upper bound of it, and that of A with columns of equal norm.
type estimates struct {
	plain, bound, scaled cachedEstimate
	fine                 atomic.Bool // A is known not to be singular to working precision: see directly
}

// newNorms returns the norms of a matrix whose columns have the given 1-norms.
func newNorms(columns []float64) norms {
	n := norms{columns: columns, estimates: new(estimates)}
	n.norm1 = largestOf(columns)
	return n
}

// reset makes n the norms of another matrix, whose columns have the 1-norms given. It uses n's memory again; nobody else
// has it.
func (n *norms) reset(columns []float64) {
	if n.estimates == nil {
		n.estimates = new(estimates)
	}
	n.plain.value, n.bound.value, n.scaled.value = 0, 0, 0
	n.fine.Store(false)
	n.columns = append(n.columns[:0], columns...)
	n.norm1 = largestOf(columns)
}

// check returns nil if A is known to be fine, or else what condition finds out: nil is kept.
func (n *norms) check(condition func() error) error {
	if n.fine.Load() {
		return nil
	}
	err := condition()
	if err == nil {
		n.fine.Store(true)
	}
	return err
}

// largestOf returns the largest of values that are not negative.
func largestOf(values []float64) (top float64) {
	for _, v := range values {
		top = max(top, v)
	}
	return top
}

// unit returns a power of two as the norm of the vectors that an estimator solves for. It is so
// small that a solution in T overflows only if the condition number is far beyond 1/ε. norm is
// that of A.
func unit[T Element](norm float64) float64 {
	far, least := 500, -1000
	if scalar.Eps[T]() > 0x1p-53 {
		far, least = 60, -100
	}
	return math.Ldexp(1, max(exponent(norm)-far, least))
}

// estimateCondition estimates ‖A‖·‖A⁻¹‖ in the 1-norm, where norm = ‖A‖. It is +Inf if a solution
// is out of range.
func estimateCondition[T Element](norm float64, v inverse) (float64, error) {
	if norm-norm != 0 {
		return math.Inf(1), nil
	}
	unit := unit[T](norm)
	inverse, err := norm1EstimateOf(v, unit)
	return norm / unit * inverse, err
}

// conditionBound returns an upper bound of the condition number in the 1-norm of A, with ‖A‖ =
// norm. For most matrices the bound is far above the condition number. But for every
// well-conditioned one it is far below 1/ε in float64, and it costs only one pass over the
// factors, or half of one: solutions x for a few random r.
//
// Let u be the direction that A⁻¹ stretches most, so that ‖x‖ ≥ ‖A⁻¹‖·|uᵀr| in the 2-norm. If the
// elements of r are uniform in [−1, 1], the density of uᵀr is at most 1/√2 for any u. So ‖A⁻¹‖ >
// ‖x‖/t has a probability of at most √2·t for one r. t is chosen such that all of the r together
// have one of at most 10⁻⁶.
//
// Reference: J. D. Dixon, Estimating extremal eigenvalues and condition numbers of matrices, SIAM
// J. Numer. Anal. 20 (1983); for the density M. Rudelson and R. Vershynin, Small ball
// probabilities for linear images of high-dimensional distributions, IMRN (2015).
func conditionBound[T Element](norm float64, v inverse) (float64, error) {
	if norm-norm != 0 || scalar.Eps[T]() > 0x1p-53 {
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

// longest solves for count random vectors whose elements are uniform in [−unit, unit], and
// returns the largest 2-norm of a solution divided by unit; +Inf if one is not finite.
func longest(n, count int, unit float64, solve func(x ...[]float64) error) (float64, error) {
	var rnd rand.PCG
	rnd.Seed(0x243f6a8885a308d3, uint64(n))
	s := takeEstimation(count * n)
	defer s.leave()
	vectors, all := s.vectors[:count], s.all[:count*n]
	for i := range all {
		all[i] = unit * (2*(float64(rnd.Uint64()<<11>>11)/(1<<53)) - 1)
	}
	for i := range vectors {
		vectors[i] = all[i*n : (i+1)*n]
	}
	if ok, err := finiteAfter(solve, vectors); !ok {
		return math.Inf(1), err
	}
	most := 0.0
	for _, x := range vectors {
		most = max(most, length(x)/unit)
	}
	return most, nil
}

// conditionNumber returns the condition number of A.
func conditionNumber[T Element](k norms, v inverse) (float64, error) {
	return k.plain.get(func() (float64, error) { return estimateCondition[T](k.norm1, v) })
}

// condOf is Cond of a factorization of order n: the condition number of A, +Inf if A is singular, and NaN if a solution
// fails.
func condOf[T Element](ctx context.Context, n int, singular error, k norms, v func(context.Context) inverse) float64 {
	switch {
	case n == 0:
		return 0
	case singular != nil:
		return math.Inf(1)
	}
	c, err := conditionNumber[T](k, v(ctx))
	if err != nil {
		return math.NaN()
	}
	return c
}

// tolerance is the largest condition number of a matrix that is not singular to working
// precision: gonum's mat.ConditionTolerance, scaled to the precision of T.
func tolerance[T Element]() float64 { return mat.ConditionTolerance * 0x1p-53 / scalar.Eps[T]() }

// checkCondition returns a mat.Condition if A is singular to working precision: its condition
// number is beyond the tolerance, and stays beyond a tenth of it when each column is scaled to
// norm 1. For that scale the condition number is nearly the least of all scales of the columns.
//
// The scale of the columns does not affect any method here: a diagonal matrix, or one whose
// columns have different units, has solutions with all their digits. The rule also makes the
// verdict the same for all element types, methods and orders of rows and columns.
//
// Reference: A. van der Sluis, Condition numbers and equilibration of matrices, Numer. Math. 14
// (1969).
func checkCondition[T Element](k norms, v inverse) error {
	return checkConditionBy[T](k, v, tolerance[T]())
}

// checkConditionBy is checkCondition with another tolerance.
func checkConditionBy[T Element](k norms, v inverse, tolerance float64) error {
	all, err := k.bound.get(func() (float64, error) { return conditionBound[T](k.norm1, v) })
	if err == nil && !(all <= tolerance) {
		all, err = conditionNumber[T](k, v)
	}
	if err != nil || all <= tolerance {
		return err
	}
	if k.columns != nil {
		least, err := k.scaled.get(func() (float64, error) {
			return estimateCondition[T](k.norm1, v.scaled(k.norm1, k.columns))
		})
		if err != nil || least <= tolerance/10 {
			return err
		}
	}
	return mat.Condition(min(all, math.MaxFloat64))
}

// checkColumns returns a mat.Condition if columns of a matrix A depend on each other but for rounding.
// r returns the magnitudes of the elements of the factor R of A, by QR. k are the norms of R, v is its inverse.
//
// The computed R is that of columns a_j+Δa_j, where ‖Δa_j‖ ≤ δ·‖a_j‖. If Σ c_j·a_j = 0, the computed
// R maps c to a vector of the length of Σ c_j·Δa_j, at most about δ·‖(c_j·‖a_j‖)‖ as errors add up
// at random. So ‖D·R⁻¹‖₂ ≥ 1/δ, where D has the lengths of the columns on its diagonal. This number
// does not depend on the scale of the columns.
//
// In a square matrix such a Σ c_j·Δa_j is one rounding error. In a tall one it is a vector of
// m−n+1 of them. In 25,000 random matrices of up to 3000×30 each, with and without fused
// multiply-adds, δ was at most 13·ε for a column that repeats another one. It was 8·ε with n = 300,
// and grows as √n.
//
// References: N. J. Higham, Accuracy and Stability of Numerical Algorithms, theorem 19.4; M. P.
// Connolly and N. J. Higham, Probabilistic rounding error analysis of Householder QR
// factorization, SIAM J. Matrix Anal. Appl. 44 (2023).
func checkColumns[T Element](r func(i, j int) float64, k norms, v inverse) error {
	root := math.Sqrt(float64(v.n))
	limit := 1 / (max(16, root/2) * scalar.Eps[T]())
	// ‖D·R⁻¹‖₂ is at most ‖R‖₁·‖R⁻¹‖₂, and that at most √n times the condition number in the
	// 1-norm, of which the estimate may be a third.
	if all, err := k.bound.get(func() (float64, error) { return conditionBound[T](k.norm1, v) }); err != nil || all <= limit {
		return err
	}
	all, err := conditionNumber[T](k, v)
	if err != nil || 3*root*all <= limit {
		return err
	}
	lengths := make([]float64, v.n)
	for j := range lengths {
		s := 0.0
		for i := range j + 1 {
			x := r(i, j) / k.norm1
			s += x * x
		}
		lengths[j] = math.Sqrt(s)
	}
	// Three steps of the power method: if the number is near the limit or beyond, one singular
	// value is far from most others.
	scaled := v.scaled(1, lengths)
	unit := unit[T](k.norm1)
	x, rnd, largest := make([]float64, v.n), rand.New(rand.NewPCG(0x13198a2e03707344, uint64(v.n))), 0.0
	for i := range x {
		x[i] = rnd.NormFloat64()
	}
	for _, step := range []func(x ...[]float64) error{scaled.apply, scaled.transposed, scaled.apply} {
		former := length(x)
		for i := range x {
			x[i] *= unit / former
		}
		if ok, err := finiteAfter(step, [][]float64{x}); !ok {
			return cmp.Or(err, error(mat.Condition(min(all, math.MaxFloat64))))
		}
		if largest = max(largest, k.norm1/unit*length(x)); largest >= limit {
			return mat.Condition(min(all, math.MaxFloat64))
		}
	}
	return nil
}

// length returns the 2-norm of x.
func length(x []float64) float64 {
	top, s := math.Abs(x[argmax(x)]), 0.0
	if top == 0 {
		return 0
	}
	for _, v := range x {
		s += v / top * (v / top)
	}
	return top * math.Sqrt(s)
}

// cachedEstimate is a number that is estimated when it is first needed.
type cachedEstimate struct {
	mu    sync.Mutex
	value float64 // 0: not yet
}

// get returns the number. It returns the error of estimate, and estimates again the next time.
func (x *cachedEstimate) get(estimate func() (float64, error)) (float64, error) {
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

// nearSingular returns a mat.Condition if A is singular to working precision. The upper triangle
// of r holds a factor R of A; power is 2 if cond(A) = cond(R)², else 1. The condition is +Inf if
// R has no inverse: a zero is on its diagonal, or an element is out of range. A finite one that
// overflows becomes the largest number. If R shows nothing, verdict decides.
//
// A column that depends on those before it, but for rounding, mostly shows in R: its diagonal
// element is typically 2 to 6·ε of another element of its column, and verdict need not estimate.
// If R is transposed, its columns are combinations of rows of A and of similar size, so the
// element may be in another column.
func nearSingular[T Element](r *blocked.Matrix[T], n int, power float64, turned bool, verdict func() error) error {
	return nearSingularBy[T](magnitudesOf(r), make([]float64, n), power, turned, verdict)
}

// magnitudesOf returns the function of the magnitudes of a's elements.
func magnitudesOf[T Element](a *blocked.Matrix[T]) func(i, j int) float64 {
	return func(i, j int) float64 { return math.Abs(float64(a.At(i, j))) }
}

// nearSingularBy is nearSingular for a triangle whose elements have the magnitudes at. diagonal is scratch, of as many
// elements as the triangle has rows.
func nearSingularBy[T Element](at func(i, j int) float64, diagonal []float64, power float64, turned bool,
	verdict func() error) error {
	lo, hi := diagonalOf(at, diagonal)
	if lo == 0 || hi-hi != 0 { // hi is NaN if one of them is
		return mat.Condition(math.Inf(1))
	}
	ratio, inRange := dependence[T](at, diagonal, hi, power)
	if turned {
		ratio = max(ratio, hi/lo)
	}
	switch {
	case !inRange:
		return mat.Condition(math.Inf(1))
	case ratio >= 1/(8*scalar.Eps[T]()):
		return mat.Condition(min(ratio, math.MaxFloat64))
	}
	return verdict()
}

// triangleError returns a mat.Condition of +Inf if the upper triangular factor in r has no
// inverse.
func triangleError[T Element](r *blocked.Matrix[T], n int) error {
	if err := nearSingular(r, n, 1, false, func() error { return nil }); isInfinite(err) {
		return err
	}
	return nil
}

// diagonalOf sets diagonal to the diagonal elements of a triangle whose elements have the magnitudes at, and returns the
// least and the largest one. It reads each once, as the tiles of a distributed matrix are fetched.
func diagonalOf(at func(i, j int) float64, diagonal []float64) (lo, hi float64) {
	lo = math.Inf(1)
	for i := range diagonal {
		diagonal[i] = at(i, i)
		lo, hi = min(lo, diagonal[i]), max(hi, diagonal[i])
	}
	return lo, hi
}

// dependence returns the largest ratio (|r_ij|/|r_jj|)^power of an element above the diagonal and
// the diagonal element of its column, where |r_ij| is at(i, j). It skips columns whose diagonal element is not small
// against hi, the largest one, and stops at a column that depends on those before it but for
// rounding. It reports whether all elements that it has read are finite.
func dependence[T Element](at func(i, j int) float64, diagonal []float64, hi, power float64) (ratio float64, inRange bool) {
	limit := 1 / (8 * scalar.Eps[T]())
	small := math.Sqrt(limit)
	if power != 1 {
		small = math.Pow(small, 1/power)
	}
	for j := 0; j < len(diagonal) && ratio < limit; j++ {
		d := diagonal[j]
		if hi/d < small {
			continue
		}
		for i := range j {
			s := at(i, j)
			if s-s != 0 {
				return ratio, false
			}
			ratio = max(ratio, math.Pow(s/d, power))
		}
	}
	return ratio, true
}
