//go:build mpi && scalapack && linux && cgo

package netlib

// #cgo pkg-config: ompi
// #cgo LDFLAGS: -lscalapack-openmpi
// #include <mpi.h>
// #include <stdint.h>
// int Csys2blacs_handle(MPI_Comm);
// void Cfree_blacs_system_handle(int);
// void Cblacs_gridexit(int);
// void Cblacs_get(int, int, int *);
// void Cblacs_gridinit(int *, const char *, int, int);
// void Cblacs_gridinfo(int, int *, int *, int *, int *);
// void pdpotrf_(const char *, int *, double *, int *, int *, int32_t *, int *);
//
// static int grid(int p, int q) {
//	int context, rows, cols, row, col;
//	Cblacs_get(-1, 0, &context);
//	Cblacs_gridinit(&context, "Row", p, q);
//	Cblacs_gridinfo(context, &rows, &cols, &row, &col);
//	return row < 0 || col < 0 ? -1 : context;
// }
//
// // grid_of makes a grid of a communicator, which is MPI's handle in Fortran.
// static int grid_of(int comm, int p, int q, int *handle) {
//	int rows, cols, row, col;
//	*handle = Csys2blacs_handle(MPI_Comm_f2c(comm));
//	int context = *handle;
//	Cblacs_gridinit(&context, "Row", p, q);
//	Cblacs_gridinfo(context, &rows, &cols, &row, &col);
//	return row < 0 || col < 0 ? -1 : context;
// }
//
// static int pdpotrf(int upper, int n, double *a, int32_t *desc) {
//	int one = 1, info = 0;
//	pdpotrf_(upper ? "U" : "L", &n, a, &one, &one, desc, &info);
//	return info;
// }
import "C"

import (
	"fmt"
	"unsafe"
)

// Grid makes a grid of the BLACS, by rows, of the first p·q processes, and returns its context.
// MPI has been initialised, and nobody else calls it meanwhile.
func Grid(p, q int) (context int32, err error) {
	if context = int32(C.grid(C.int(p), C.int(q))); context < 0 {
		return 0, fmt.Errorf("netlib: this process is not in a grid of %d×%d", p, q)
	}
	return context, nil
}

// GridOf makes a grid of the BLACS, by rows, of the p·q ranks of a communicator, whose handle in Fortran is comm. It
// returns the context, and what frees it. All ranks call both. The BLACS are for one goroutine at a time.
func GridOf(comm int32, p, q int) (context int32, free func(), err error) {
	var handle C.int
	c := C.grid_of(C.int(comm), C.int(p), C.int(q), &handle)
	if c < 0 {
		return 0, nil, fmt.Errorf("netlib: this process is not in a grid of %d×%d", p, q)
	}
	return int32(c), func() {
		C.Cblacs_gridexit(c)
		C.Cfree_blacs_system_handle(handle)
	}, nil
}

// Pdpotrf overwrites the lower or upper half of a symmetric matrix of order n with its Cholesky
// factor.
func Pdpotrf(upper bool, n int, a []float64, desc [9]int32) error {
	var u C.int
	if upper {
		u = 1
	}
	info := C.pdpotrf(u, C.int(n), (*C.double)(unsafe.Pointer(unsafe.SliceData(a))), (*C.int32_t)(unsafe.Pointer(&desc[0])))
	if info != 0 {
		return fmt.Errorf("netlib: pdpotrf: info %d", info)
	}
	return nil
}
