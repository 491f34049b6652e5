package mpi

import "testing"

// TestLaunched: who has started this process says which rank it is; the batch script of a job
// is none.
func TestLaunched(t *testing.T) {
	for _, test := range []struct {
		env        map[string]string
		rank, size int
		ok         bool
	}{
		{nil, 0, 0, false},
		{map[string]string{"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"}, 3, 4, true},
		{map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2"}, 1, 2, true},
		{map[string]string{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, 1, 2, true},
		{map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, 0, 0, false},
		{map[string]string{"PMI_RANK": "2", "PMI_SIZE": "2"}, 0, 0, false},
	} {
		rank, size, ok := launched(func(name string) string { return test.env[name] })
		if rank != test.rank || size != test.size || ok != test.ok {
			t.Errorf("%v: rank %d of %d, %v", test.env, rank, size, ok)
		}
	}
}
