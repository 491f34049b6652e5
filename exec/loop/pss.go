package loop

// pss is PSS, probabilistic self-scheduling: ⌈R / (1.5·E)⌉ of the R items that are left,
// where E, the expected number of workers that are about to ask, is P.
//
// Reference: Girkar et al., "Probabilistic self-scheduling" (2006).
func pss(s Shape, _, remaining int) uint64 { return ceil(2*u(remaining), 3*u(s.Workers)) }
