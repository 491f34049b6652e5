package loop

// static is STATIC: a chunk for each worker, N/P items, of which the first N mod P chunks
// have one more.
//
// It costs least and balances nothing.
//
// Reference: Li, Tandri, Stumm and Sevcik, "Locality and loop scheduling on NUMA
// multiprocessors" (1993).
func static(s Shape, i, _ int) uint64 {
	size, larger := spread(s)
	if i < larger {
		size++
	}
	return u(size)
}

// spread returns what the chunks of static have, and how many have one more.
func spread(s Shape) (size, larger int) { return s.Items / s.Workers, s.Items % s.Workers }
