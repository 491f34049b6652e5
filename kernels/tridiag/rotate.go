package tridiag

import "github.com/tessera-la/tessera/internal/scalar"

// Rotations rotates rows of q in turn. cs holds the cosine c and the sine s of each of k rotations. They make
//
//	x, y = c·x + s·y, c·y − s·x
//
// of rows first and first+step, then of rows first+step and first+2·step, and so on. step is 1 or −1.
//
// Reference: LAPACK xLASR with SIDE = 'L', PIVOT = 'V'.
type Rotations[T scalar.Real] func(q Matrix[T], first, step int, cs []T)

// Apply is f or, if that is nil, a loop.
func (f Rotations[T]) Apply(q Matrix[T], first, step int, cs []T) {
	switch {
	case len(cs) == 0 || q.Cols == 0:
	case f != nil:
		f(q, first, step, cs)
	default:
		for i := 0; i < len(cs); i += 2 {
			Rotate(q.Row(first), q.Row(first+step), cs[i], cs[i+1])
			first += step
		}
	}
}
