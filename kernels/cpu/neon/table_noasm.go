//go:build !arm64 || noasm

package neon

import "github.com/tessera-la/tessera/kernels/cpu/isa"

// fill sets the kernels of t, if this build has them.
func fill(t *isa.Table) {}
