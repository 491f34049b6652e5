package mpi

import (
	"os"
	"strconv"
)

// Launched returns the rank of this process and the number of processes from the launcher's
// environment, before MPI is initialised. ok is false if there is no launcher; then [Open] makes a
// world of this process only.
func Launched() (rank, size int, ok bool) { return launched(os.Getenv) }

// launched is Launched for a given environment. The launcher closest to the process takes
// precedence: mpirun in a job of Slurm sets both sets of variables.
func launched(env func(string) string) (rank, size int, ok bool) {
	for _, names := range [...][2]string{
		{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, // Open MPI's mpirun
		{"PMI_RANK", "PMI_SIZE"},                         // MPICH's mpirun, and srun --mpi=pmi2
		{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},         // srun
	} {
		r, bad := strconv.Atoi(env(names[0]))
		n, worse := strconv.Atoi(env(names[1]))
		if bad == nil && worse == nil && r >= 0 && r < n {
			return r, n, true
		}
	}
	return 0, 0, false
}
