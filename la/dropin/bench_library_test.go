//go:build cgo && openblas && lapacke

package dropin_test

import (
	"runtime"

	"github.com/tessera-la/tessera/kernels/op"
	blasnetlib "gonum.org/v1/netlib/blas/netlib"
	lapacknetlib "gonum.org/v1/netlib/lapack/netlib"
)

// libraries returns the implementations of C libraries, on as many threads as
// there are cores.
func libraries() []implementation {
	op.NewTable() // sets the threads to one
	op.SetBLASThreads(runtime.GOMAXPROCS(0))
	return []implementation{{"openblas", blasnetlib.Implementation{}, lapacknetlib.Implementation{}}}
}
