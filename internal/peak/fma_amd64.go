//go:build !noasm

package peak

import "github.com/tessera-la/tessera/internal/topo"

// Each function does n ≥ 1 rounds of independent s = s·(-1) + 1 on whole
// vector registers: 32 of them with AVX-512 (16 sums, twice), 24 with AVX2
// (12 sums, twice). Two pipes need 8 sums at a latency of four cycles and 12
// at the six of Knights Landing.

//go:noescape
func fmaAVX512F64(n int)

//go:noescape
func fmaAVX512F32(n int)

//go:noescape
func fmaAVX2F64(n int)

//go:noescape
func fmaAVX2F32(n int)

// vectorLoops returns the loops beside the portable one that this machine can
// run, slowest first.
func vectorLoops() []loop {
	id := topo.Identify()
	var all []loop
	if id.Has("avx2", "fma3") {
		all = append(all, loop{isa: AVX2, flops32: 24 * 8 * 2, flops64: 24 * 4 * 2, run32: fmaAVX2F32, run64: fmaAVX2F64})
	}
	if id.Has("avx512f") {
		all = append(all, loop{isa: AVX512, flops32: 32 * 16 * 2, flops64: 32 * 8 * 2, run32: fmaAVX512F32, run64: fmaAVX512F64})
	}
	return all
}
