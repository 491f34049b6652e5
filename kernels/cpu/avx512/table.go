package avx512

import "github.com/tessera-la/tessera/kernels/cpu/isa"

// Table returns the instruction set, with its kernels if this build has them.
func Table() *isa.Table {
	t := &isa.Table{Name: "avx512", Arch: "amd64", Features: []string{"avx512f"}}
	fill(t)
	return t
}
