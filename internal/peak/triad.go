package peak

// portableTriad is dst[i] = x[i] + s·y[i].
func portableTriad(dst, x, y []float64, s float64) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] + s*y[i]
	}
}
