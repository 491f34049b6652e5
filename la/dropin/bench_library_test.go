//go:build cgo && openblas && lapacke

package dropin_test

import (
	"runtime"

	"github.com/tessera-la/tessera/kernels"
	blasnetlib "gonum.org/v1/netlib/blas/netlib"
	lapacknetlib "gonum.org/v1/netlib/lapack/netlib"
)

// libraries returns the implementations of C libraries, on as many threads as
// there are cores.
func libraries() []implementation {
	kernels.NewTable() // sets the threads to one
	kernels.SetBLASThreads(runtime.GOMAXPROCS(0))
	return []implementation{{"openblas", blasnetlib.Implementation{}, lapacknetlib.Implementation{}}}
}
