package dropin

import (
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// LAPACK implements gonum's lapack.Float64: the routines that have a method
// here with package la, all others, and small problems, by gonum's. The zero
// value computes with la's default engine, whose workers end by themselves.
//
// It keeps gonum's contract, panics included: matrices are row-major and
// overwritten in place, factors lie where LAPACK puts them, and reflectors and
// tau are those of xGEQR2.
type LAPACK struct {
	gonum.Implementation
	blas BLAS
}

var _ lapack.Float64 = LAPACK{}

// NewLAPACK returns a LAPACK without registering it. An opt without an Engine
// means la's default one.
func NewLAPACK(opt Options) LAPACK { return LAPACK{blas: NewBLAS(opt)} }
