package loopapps

// uniform returns random number i, in [0, 1).
func uniform(seed uint64, i int) float64 {
	return float64(mix(seed*0x9e3779b97f4a7c15+uint64(i))>>11) * 0x1p-53
}

// mix is the output function of SplitMix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
