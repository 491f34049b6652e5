package mpi

import (
	"os"
	"strconv"
)

// Launched returns the rank of this process and how many there are, as its launcher says in
// the environment, before MPI is initialised. Ok is false if none does; then [Open] makes a
// world of this process only.
func Launched() (rank, size int, ok bool) { return launched(os.Getenv) }

// launched is Launched in some environment. What the launcher closest to the process has set
// counts first: mpirun in a job of Slurm sets both.
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
