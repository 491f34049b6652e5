package peak

import "github.com/tessera-la/tessera/kernels/cpu/native"

// triad returns a function for dst[i] = x[i] + s·y[i] on slices of one
// length, a positive multiple of 16, and its instruction set.
func triad() (ISA, func(dst, x, y []float64, s float64)) {
	k := &native.Best().F64
	if k.Triad == nil {
		return Go, portableTriad
	}
	return ISA(k.Set), func(dst, x, y []float64, s float64) { k.Triad(&dst[0], &x[0], &y[0], s, len(dst)) }
}

// portableTriad is dst[i] = x[i] + s·y[i].
func portableTriad(dst, x, y []float64, s float64) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] + s*y[i]
	}
}
