//go:build mpi && linux && cgo && mpich

package main

// launcher is MPICH's.
func launcher() []string { return []string{"mpirun.mpich"} }
