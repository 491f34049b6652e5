package tuning

// Candidates returns the tile sizes that are worth trying for a problem of
// order n, ascending, at distances of a tenth to a third: from 32 to half of n,
// or 1536 at most. All are multiples of the 8 rows of the micro-kernels, and
// those that are no powers of two of their 12, 24 or 48 columns, too.
func Candidates(n int) []int {
	all := []int{32, 48, 64, 96, 128, 144, 192, 240, 256, 288, 336, 384, 432, 480, 512, 576, 672, 768, 864, 960, 1152, 1344, 1536}
	half := ((n+1)/2 + 7) / 8 * 8
	for i, nb := range all {
		if nb >= half {
			return append(all[:i], max(half, all[0]))
		}
	}
	return all
}
