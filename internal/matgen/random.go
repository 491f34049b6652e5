package matgen

// gamma is the step of splitmix64: 2⁶⁴ over the golden ratio, odd.
const gamma = 0x9e3779b97f4a7c15

// mix is the output function of splitmix64 (Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators", 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// rowKey returns the seed of the splitmix64 sequence of row i.
func rowKey(seed uint64, i int) uint64 { return mix(seed + (uint64(i)+1)*gamma) }

// word returns number j of the sequence of row i: 64 random bits.
func word(seed uint64, i, j int) uint64 { return mix(rowKey(seed, i) + (uint64(j)+1)*gamma) }

// Uniform returns a number in [-1/2, 1/2) that depends on seed, i and j only
// and is uniform and independent over them.
func Uniform(seed uint64, i, j int) float64 {
	return float64(word(seed, i, j)>>11)*0x1p-53 - 0.5
}

// sign returns -1 or 1, by seed and i.
func sign(seed uint64, i int) float64 {
	if word(seed, i, 0)>>63 == 0 {
		return -1
	}
	return 1
}

// stream returns a seed for a second, independent use of random numbers in
// the same matrix.
func stream(seed uint64, use int) uint64 { return mix(seed ^ mix(uint64(use)+gamma)) }
