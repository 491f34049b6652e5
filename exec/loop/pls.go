package loop

// pls is PLS, performance loop-based self-scheduling: the first half of the items in chunks
// of ⌈N/2P⌉, one for each worker, and the other half as GSS.
//
// Reference: Shih, Yang and Tseng, "A performance-based parallel loop scheduling on grid
// environments" (2007), with half of the items static.
func pls(s Shape, i, remaining int) uint64 {
	if 2*u(remaining) > u(s.Items) {
		return ceil(u(s.Items), 2*u(s.Workers))
	}
	return gss(s, i, remaining)
}
