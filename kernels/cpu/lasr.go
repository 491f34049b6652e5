package cpu

import "github.com/tessera-la/tessera/kernels/cpu/isa"

// LasrBy returns the sequences of plane rotations of a set of routines, or nil if the set has none: a function that makes
//
//	x, y = c·x + s·y, c·y − s·x
//
// of the rows of n ≥ 1 elements at a[first] and at a[first+step], then of the second one and the one at a[first+2·step],
// and so on, for each cosine c and sine s in cs. step may be negative.
//
// Reference: LAPACK xLASR with SIDE = 'L', PIVOT = 'V'.
func LasrBy[T Element](r Routines[T]) func(n int, a []T, first, step int, cs []T) {
	p, ok := r.(*Packed[T])
	if !ok || p.kernels == nil || p.kernels.Lasr == nil {
		return nil
	}
	return func(n int, a []T, first, step int, cs []T) {
		k := len(cs) / 2
		last := first + k*step
		_, _ = a[first:first+n], a[last:last+n]
		for ; n > 0 && k > 0; n -= p.kernels.Strip {
			p.kernels.Lasr(isa.Hide(&a[first]), step, k, min(n, p.kernels.Strip), isa.Hide(&cs[0]))
			first += p.kernels.Strip
		}
	}
}
