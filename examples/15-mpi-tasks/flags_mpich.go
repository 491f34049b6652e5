//go:build mpi && linux && cgo && mpich && !mpicc

package main

// #cgo pkg-config: mpich
import "C"
