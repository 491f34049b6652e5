package loop

// gss is GSS, guided self-scheduling: ⌈R/P⌉ of the R items that are left.
//
// Reference: Polychronopoulos and Kuck, "Guided self-scheduling" (1987).
func gss(s Shape, _, remaining int) uint64 { return ceil(u(remaining), u(s.Workers)) }
