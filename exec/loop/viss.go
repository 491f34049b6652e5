package loop

// viss is VISS, variable-increase self-scheduling: batches of P chunks that grow by half as
// much each time. From c = ⌊N/(X·P)⌋ items, where X = B + 2 for B = 2 batches, batch b has
// chunks of
//
//	⌊c·(1−(½)^(b+1)) / ½⌋ = 2c − ⌈c/2^b⌉
//
// items.
//
// Reference: as for FISS.
func viss(s Shape, i, _ int) uint64 {
	const x = 4
	c := u(s.Items) / (x * u(s.Workers))
	return 2*c - halved(c, s.batch(i))
}
