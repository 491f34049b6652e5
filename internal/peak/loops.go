package peak

import (
	"slices"

	"github.com/tessera-la/tessera/kernels/cpu/native"
)

// Available returns the instruction sets that this build can measure on this
// machine, slowest first.
func Available() []ISA {
	var all []ISA
	for _, l := range loops() {
		all = append(all, l.isa)
	}
	return all
}

// loops returns the loops that this machine can run, slowest first.
func loops() []loop {
	all := []loop{{isa: Go, flops32: portableFlops, flops64: portableFlops, run32: portableFMA[float32], run64: portableFMA[float64]}}
	for _, t := range slices.Backward(native.Here()) {
		if t.F32.FMA != nil && t.F64.FMA != nil {
			all = append(all, loop{isa: ISA(t.Name), flops32: t.F32.FMAFlops, flops64: t.F64.FMAFlops, run32: t.F32.FMA, run64: t.F64.FMA})
		}
	}
	return all
}

// portableFlops is the floating point operations of one round of portableFMA.
const portableFlops = 16 * 2

// portableFMA does n rounds of 16 independent s = s·x + y. The sums swing
// between 0.25 and 0.75: neither overflow nor denormal numbers slow them, and
// all their bits are at work. Where the Go compiler fuses (arm64, ppc64,
// riscv64, s390x) each is one instruction, else two.
func portableFMA[T float32 | float64](n int) {
	// Variables, for a multiplication by the constant -1 would be compiled
	// to a subtraction.
	x, y := variable[T](-1), variable[T](1)
	s0, s1, s2, s3 := y/4, y/4, y/4, y/4
	s4, s5, s6, s7 := y/4, y/4, y/4, y/4
	s8, s9, s10, s11 := y/4, y/4, y/4, y/4
	s12, s13, s14, s15 := y/4, y/4, y/4, y/4
	for range n {
		s0, s1, s2, s3 = s0*x+y, s1*x+y, s2*x+y, s3*x+y
		s4, s5, s6, s7 = s4*x+y, s5*x+y, s6*x+y, s7*x+y
		s8, s9, s10, s11 = s8*x+y, s9*x+y, s10*x+y, s11*x+y
		s12, s13, s14, s15 = s12*x+y, s13*x+y, s14*x+y, s15*x+y
	}
	variable(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11 + s12 + s13 + s14 + s15)
}

// variable returns v, in a way that the compiler does not see through.
//
//go:noinline
func variable[T float32 | float64](v T) T { return v }
