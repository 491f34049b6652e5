package la

import (
	"github.com/tessera-la/tessera/internal/scalar"
)

// Operation is an operation for which this package chooses and tunes tile sizes.
type Operation uint8

// The operations.
const (
	OpGemm Operation = iota
	OpSyrk
	OpTrsm
	OpCholesky
	OpLU
	OpQR
)

func (op Operation) String() string {
	return nameOf([]string{"gemm", "syrk", "trsm", "cholesky", "lu", "qr"}, uint8(op), "Operation")
}

// TuningKey returns the name of op on T in a profile, as in "cholesky/f64".
func TuningKey[T Element](op Operation) string {
	return op.String() + "/" + scalar.Of[T]().String()
}
