package tridiag

import "github.com/tessera-la/tessera/internal/scalar"

// chunk is the number of rows that one part of a step of a merge computes. It does not depend on the number of units,
// so neither do the bits of the result.
const chunk = 128

// Crew calls f for parts 0 to parts−1, on as many units as there are. Each call of f gets work elements of scratch.
// Crew returns when all calls have returned.
type Crew[T scalar.Real] func(parts, work int, f func(part, parts int, work []T))

// Alone returns the Crew of the caller's unit alone. All parts use scratch, one after the other.
func Alone[T scalar.Real](scratch []T) Crew[T] {
	return func(parts, work int, f func(part, parts int, work []T)) {
		for i := range parts {
			f(i, parts, scratch[:work])
		}
	}
}

// Secular does parts of the work for secular equations. Each function does the first elements of its operands, and
// returns how many those are.
type Secular[T scalar.Real] interface {
	// Sums returns Σ zz(i)/(delta(i)−tau) and Σ zz(i)/(delta(i)−tau)².
	Sums(delta, zz []T, tau T) (done int, value, slope T)
	// Factors computes f(i) *= x(i)/(d(i)−p), or with squares f(i) *= x(i)/(d(i)²−p²).
	Factors(d []T, p T, squares bool, x, f []T) (done int)
	// Quotients computes y(i) = w(i)/x(i).
	Quotients(w, x, y []T) (done int)
}

// Tools is what divide and conquer computes with. Work and Mul are needed.
type Tools[T scalar.Real] struct {
	// Mul computes C = A·B, where A is m×k and B is k×n. Matrices are row-major. Work returns the number of elements of
	// scratch that Mul needs if no dimension is larger than dim.
	Mul  func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, work []T)
	Work func(dim int) int
	// Secular, if it is not nil, does the same as loops of this package.
	Secular Secular[T]
	// Rotate, if it is not nil, applies the rotations of the QL and QR iterations.
	Rotate Rotations[T]
	// Stop is asked between merges whether to go on. An error of Stop ends the computation with that error.
	Stop func() error
}
