//go:build mpi && linux && cgo && !mpich

package main

// launcher is Open MPI's. To bind ranks would leave each a core.
func launcher() []string {
	return []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}
}

// keeping are the options by which it keeps the other ranks when one is lost.
func keeping() []string { return []string{"--enable-recovery"} }
