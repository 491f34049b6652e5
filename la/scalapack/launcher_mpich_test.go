//go:build mpi && linux && cgo && mpich

package scalapack

// launcher is MPICH's.
func launcher() []string { return []string{"mpirun.mpich"} }
