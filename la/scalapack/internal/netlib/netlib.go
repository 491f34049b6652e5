//go:build mpi && scalapack && linux && cgo

package netlib

// #cgo LDFLAGS: -lscalapack-openmpi
// #include <stdint.h>
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
