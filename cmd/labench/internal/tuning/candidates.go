package tuning

import "slices"

// Candidates returns the tile sizes that are worth trying for a problem of
// order n, ascending: from 32 to half of n, or 1536 at most, at distances of a
// tenth to a third. All are multiples of the 8 rows of the micro-kernels, and
// those without a power of two in them of the columns, 12, 24 or 48, too.
func Candidates(n int) []int {
	all := []int{32, 48, 64, 96, 128, 144, 192, 240, 256, 288, 336, 384, 432, 480, 512, 576, 672, 768, 864, 960, 1152, 1344, 1536}
	end := max(n/2, all[0])
	return all[:slices.IndexFunc(append(all, end+1), func(nb int) bool { return nb > end })]
}
