//go:build mpi && linux && cgo && !mpich && !mpicc

package main

// #cgo pkg-config: ompi
import "C"
