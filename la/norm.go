package la

import (
	"github.com/tessera-la/tessera/blocked"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// infinityNorm returns the norm of v that is the ∞-norm of op(v).
func infinityNorm(trans blas.Transpose) lapack.MatrixNorm {
	if trans != blas.NoTrans {
		return lapack.MaxColumnSum
	}
	return lapack.MaxRowSum
}

var _ = blocked.Full
