//go:build cgo && openblas && lapacke

package matcalls

// LAPACKE is a library of its own in Debian; the name with the version is there
// without a package for development. kernels/cpu links the rest.

// #cgo LDFLAGS: -l:liblapacke.so.3
import "C"

import (
	blasnetlib "gonum.org/v1/netlib/blas/netlib"
	lapacknetlib "gonum.org/v1/netlib/lapack/netlib"
)

// netlibMat returns gonum's binding of the C library; ok is false in builds
// without it.
func netlibMat() (i implementation, ok bool) {
	return implementation{blas: blasnetlib.Implementation{}, lapack: lapacknetlib.Implementation{}}, true
}
