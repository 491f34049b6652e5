package loop

import "math/bits"

// fiss is FISS, fixed-increase self-scheduling: batches of P chunks that grow by a fixed
// number of items. With B = 3 batches and X = B + 2, batch b has chunks of
//
//	⌊N/(X·P)⌋ + b·⌊2N(1−B/X) / (P·B·(B−1))⌋
//
// items; what rounding leaves after the third comes last.
//
// Reference: Philip and Das, "Evaluation of loop scheduling algorithms on distributed memory
// systems" (1997).
func fiss(s Shape, i, remaining int) uint64 {
	const batches, x = 3, 5
	const growth = x * batches * (batches - 1) / (x - batches) // (1−B/X) / (B·(B−1)) is 1/growth
	p := u(s.Workers)
	high, more := bits.Mul64(u(s.batch(i)), 2*u(s.Items)/(growth*p))
	if high > 0 || more > u(remaining) {
		return u(remaining)
	}
	return u(s.Items)/(x*p) + more
}
