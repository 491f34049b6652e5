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

// Product multiplies row-major matrices.
type Product[T scalar.Real] struct {
	// Work returns the number of elements of scratch that Mul needs if no dimension is larger than dim.
	Work func(dim int) int
	// Mul computes C = A·B, where A is m×k and B is k×n.
	Mul func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, work []T)
}
