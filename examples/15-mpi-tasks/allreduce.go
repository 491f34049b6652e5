//go:build mpi && linux && cgo

package main

// #include <mpi.h>
//
// static int sum(int comm, double *x, int n) {
//	return MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, MPI_SUM, MPI_Comm_f2c(comm));
// }
import "C"

import (
	"fmt"
	"unsafe"
)

// allreduce overwrites x with the sum of what all ranks of a communicator have in x. comm is its handle in Fortran.
func allreduce(comm int32, x []float64) error {
	if e := C.sum(C.int(comm), (*C.double)(unsafe.Pointer(&x[0])), C.int(len(x))); e != C.MPI_SUCCESS {
		return fmt.Errorf("MPI_Allreduce: error %d", e)
	}
	return nil
}
