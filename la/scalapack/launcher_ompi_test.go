//go:build mpi && linux && cgo && !mpich

package scalapack

// launcher is Open MPI's. To bind ranks would leave each a core.
func launcher() []string {
	return []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}
}
