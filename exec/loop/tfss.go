package loop

// tfss is TFSS, trapezoid factoring: batches of P chunks, each of the mean of the next P
// chunks of TSS, rounded down.
//
// Reference: Chronopoulos et al., "A class of loop self-scheduling for heterogeneous
// clusters" (2001).
func tfss(s Shape, i, _ int) uint64 {
	// Those are f − k·δ for k from b·P to b·P + P − 1: their mean lies δ·(P−1)/2 below the
	// first of them.
	first, step := trapezoid(s)
	top := descend(first, step, u(s.batch(i))*u(s.Workers))
	below := ceil(step*(u(s.Workers)-1), 2)
	if top <= below {
		return 1
	}
	return top - below
}
