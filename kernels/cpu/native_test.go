package cpu

import (
	"github.com/klauspost/cpuid/v2"
)

// natives returns the implementations in assembly that this machine can run.
func natives[T Element](c Caches) map[string]*Packed[T] {
	ps := make(map[string]*Packed[T])
	if p, ok := AVX2[T](c); ok && cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3) {
		ps["avx2"] = p
	}
	if p, ok := AVX512[T](c); ok && cpuid.CPU.Supports(cpuid.AVX512F) {
		ps["avx512"] = p
	}
	return ps
}
