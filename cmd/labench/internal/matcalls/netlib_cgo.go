//go:build cgo && openblas && lapacke

package matcalls

// In Debian, LAPACKE is a separate library; the versioned name exists without the development package.
// kernels/cpu links the other libraries.

// #cgo LDFLAGS: -l:liblapacke.so.3
import "C"

import (
	blasnetlib "gonum.org/v1/netlib/blas/netlib"
	lapacknetlib "gonum.org/v1/netlib/lapack/netlib"
)

// netlibMat returns gonum's binding of the C library. ok is false in builds without it.
func netlibMat() (i implementation, ok bool) {
	return implementation{blas: blasnetlib.Implementation{}, lapack: lapacknetlib.Implementation{}}, true
}
