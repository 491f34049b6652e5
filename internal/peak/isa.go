package peak

import (
	"fmt"
)

// ISA is an instruction set that a peak is measured with.
type ISA uint8

// The instruction sets, slowest first.
const (
	// Best stands for the last of [Available].
	Best ISA = iota
	// Go is scalar code by the Go compiler; on arm64 and others that fuse x*y+z,
	// the scalar FMA unit's peak.
	Go
	// AVX2 is 256-bit FMA (amd64 with AVX2 and FMA3).
	AVX2
	// AVX512 is 512-bit FMA (amd64 with AVX512F).
	AVX512
)

var isaNames = [...]string{Best: "best", Go: "go", AVX2: "avx2", AVX512: "avx512"}

func (i ISA) String() string {
	if int(i) < len(isaNames) {
		return isaNames[i]
	}
	return fmt.Sprintf("ISA(%d)", uint8(i))
}

// loop is an FMA loop: run32 and run64 do n rounds of flops32 and flops64
// floating point operations.
type loop struct {
	isa              ISA
	flops32, flops64 int
	run32, run64     func(n int)
}
