package avx2

import "github.com/tessera-la/tessera/kernels/cpu/isa"

// Table returns the instruction set, with its kernels if this build has them.
func Table() *isa.Table {
	t := &isa.Table{Name: "avx2", Arch: "amd64", Features: []string{"avx2", "fma3"}}
	fill(t)
	return t
}
