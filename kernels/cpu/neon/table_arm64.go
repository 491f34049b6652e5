//go:build !noasm

package neon

import "github.com/tessera-la/tessera/kernels/cpu/isa"

// fill sets the kernels of t, if this build has them.
func fill(t *isa.Table) {
	t.F64 = isa.Kernels[float64]{
		Lanes: 4, Rows: 4,
		Gemm: gemmF64, PackRows: packRows, PackTransposed: packTransposedF64,
	}
	t.F32 = isa.Kernels[float32]{
		Lanes: 8, Rows: 4,
		Gemm: gemmF32, PackRows: packRows, PackTransposed: packTransposedF32,
	}
}
