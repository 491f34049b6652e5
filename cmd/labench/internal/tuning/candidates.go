package tuning

import "slices"

// Candidates returns the tile sizes that are worth trying for a problem of order n, ascending. They divide n
// evenly into 2, 3, 4, 5, 6, 8, 10, 12, 16 … parts, rounded up to multiples of the 8 rows of the micro-kernels,
// from 32 to 1536. A partial tile at the end would distort the comparison of sizes: it takes a worker almost as
// long to start as a full tile.
func Candidates(n int) []int {
	const least, most, multiple = 32, 1536, 8
	var all []int
	for parts := 2; ; {
		nb := ((n+parts-1)/parts + multiple - 1) / multiple * multiple
		if nb <= most {
			all = append(all, max(nb, least))
		}
		if nb <= least {
			break
		}
		// From each power of two on, the step is a quarter of it; the last step is a half.
		power := 1
		for 2*power <= parts {
			power *= 2
		}
		if step := max(power/4, 1); parts == power+2*step {
			parts = 2 * power
		} else {
			parts += step
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
