//go:build !noasm

package peak

import "github.com/tessera-la/tessera/internal/topo"

// triadAVX2 is dst[i] = x[i] + s·y[i] for 0 ≤ i < n; n is a positive multiple
// of 16. The loop in Go moves no more than 80 GB/s even within the first-level
// cache (AMD Zen 5 with 2 cores), against 280 of this one: too close to what
// one core can draw from memory to measure it with.
//
//go:noescape
func triadAVX2(dst, x, y *float64, s float64, n int)

// triad returns a function for dst[i] = x[i] + s·y[i] on slices of one
// length, a positive multiple of 16, and its instruction set.
func triad() (ISA, func(dst, x, y []float64, s float64)) {
	id := topo.Identify()
	if !id.Has("avx2", "fma3") {
		return Go, portableTriad
	}
	return AVX2, func(dst, x, y []float64, s float64) {
		triadAVX2(&dst[0], &x[0], &y[0], s, len(dst))
	}
}
