//go:build mpi && linux && cgo && mpich && !mpicc

package libmpi

// #cgo pkg-config: mpich
import "C"
