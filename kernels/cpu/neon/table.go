package neon

import "github.com/tessera-la/tessera/kernels/cpu/isa"

// Table returns the instruction set, with its kernels if this build has them.
func Table() *isa.Table {
	t := &isa.Table{Name: "neon", Arch: "arm64"} // no features: all processors have it
	fill(t)
	return t
}
