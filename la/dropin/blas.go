package dropin

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// BLAS implements gonum's blas.Float64 and blas.Float32, and by gonum's own
// routines the complex ones: xGEMM, xSYRK, xSYR2K, xSYMM, xTRMM and xTRSM with
// package la; xGEMV, xSYMV, xGER, xSYR, xSYR2, xTRMV, xTRSV and those on single
// vectors by kernels, on several cores if the operands are large; all others,
// small problems, and most vectors with gaps, by gonum's. The zero value computes
// with la's default engine, whose workers end by themselves.
//
// It keeps gonum's contract; in particular it panics as gonum does, and the
// matrix that is written must not share memory with another operand.
type BLAS struct {
	gonum.Implementation
	core *core
}

var (
	_ blas.Float64 = BLAS{}
	_ blas.Float32 = BLAS{}
)

// NewBLAS returns a BLAS without registering it. An opt without an Engine
// means la's default one.
func NewBLAS(opt Options) BLAS { return BLAS{core: newCore(opt)} }
