//go:build mpi && linux && cgo && !mpich && !mpicc

package libmpi

// #cgo pkg-config: ompi
import "C"
