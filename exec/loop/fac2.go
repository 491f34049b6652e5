package loop

// fac2 is FAC2, factoring by halves: batches of P chunks, each of half of what is left,
// ⌈(½)^(b+1) · N/P⌉ items in batch b.
//
// Reference: Hummel, Schonberg and Flynn, "Factoring" (1992), whose factor needs the spread
// of the items' times; ½ does without.
func fac2(s Shape, i, _ int) uint64 {
	// ⌈⌈N/2^(b+1)⌉/P⌉ is ⌈N/(P·2^(b+1))⌉.
	return ceil(halved(u(s.Items), min(s.batch(i), 63)+1), u(s.Workers))
}
