package matcalls

import (
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// implementation is a BLAS and LAPACK implementation behind gonum's mat.
type implementation struct {
	blas    blas.Float64
	lapack  lapack.Float64
	threads int // of the C library
}

func (i implementation) use() {
	op.SetBLASThreads(i.threads)
	blas64.Use(i.blas)
	lapack64.Use(i.lapack)
}
