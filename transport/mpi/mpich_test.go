//go:build mpi && linux && cgo && mpich

package mpi

// launcher is MPICH's.
func launcher() []string { return []string{"mpirun.mpich", "-n", "4"} }
