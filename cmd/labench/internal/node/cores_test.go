package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/topo"
)

// coresOf returns the cores of CPUs, with so many CPUs each.
func coresOf(cpus topo.CPUSet, threads int) (all []topo.Core) {
	for c := range slices.Chunk(cpus, threads) {
		all = append(all, topo.Core{CPUs: topo.CPUSet(c)})
	}
	return all
}

func cpuSet(t *testing.T, text string) topo.CPUSet {
	t.Helper()
	s, err := topo.ParseCPUSet(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestShare: ranks that were not bound share their machine out, by cores; those that were bound
// keep what they have; and nobody takes more than Slurm gives.
func TestShare(t *testing.T) {
	for _, test := range []struct {
		name    string
		all     []place
		threads int
		want    string // of all ranks
	}{
		{"alone on each machine", []place{{host: "a", allowed: cpuSet(t, "0-3")}, {host: "b", allowed: cpuSet(t, "0-7")}}, 1, "0-3 0-7"},
		{"not bound", []place{{host: "a", allowed: cpuSet(t, "0-6")}, {host: "a", allowed: cpuSet(t, "0-6")}, {host: "b", allowed: cpuSet(t, "0-6")}}, 1, "0-2 3-6 0-6"},
		{"with threads", []place{{host: "a", allowed: cpuSet(t, "0-7")}, {host: "a", allowed: cpuSet(t, "0-7")}}, 2, "0-3 4-7"},
		{"bound to cores", []place{{host: "a", allowed: cpuSet(t, "0-1")}, {host: "a", allowed: cpuSet(t, "2-3")}}, 1, "0-1 2-3"},
		{"two on each socket", []place{{host: "a", allowed: cpuSet(t, "0-3")}, {host: "a", allowed: cpuSet(t, "4-7")}, {host: "a", allowed: cpuSet(t, "0-3")}, {host: "a", allowed: cpuSet(t, "4-7")}}, 1, "0-1 4-5 2-3 6-7"},
		{"more ranks than cores", []place{{host: "a", allowed: cpuSet(t, "0-1")}, {host: "a", allowed: cpuSet(t, "0-1")}, {host: "a", allowed: cpuSet(t, "0-1")}}, 1, "0 0 1"},
		{"Slurm gives a task two", []place{{host: "a", allowed: cpuSet(t, "0-15"), own: 2, joint: 4}, {host: "a", allowed: cpuSet(t, "0-15"), own: 2, joint: 4}}, 1, "0-1 8-9"},
		{"Slurm gives the job four", []place{{host: "a", allowed: cpuSet(t, "0-15"), joint: 4}, {host: "a", allowed: cpuSet(t, "0-15"), joint: 4}}, 1, "0-1 8-9"},
		{"srun did not heed what sbatch gives a task", []place{{host: "a", allowed: cpuSet(t, "0-3"), own: 4, joint: 1}, {host: "b", allowed: cpuSet(t, "0-3"), own: 4, joint: 1}}, 1, "0 0"},
		{"two tasks of such a step", []place{{host: "a", allowed: cpuSet(t, "0-7"), own: 4, joint: 2}, {host: "a", allowed: cpuSet(t, "0-7"), own: 4, joint: 2}}, 1, "0 4"},
		{"tasks that are no ranks of ours", []place{{host: "a", allowed: cpuSet(t, "0-7"), joint: 8, near: 4}}, 1, "0-1"},
		{"bound to fewer", []place{{host: "a", allowed: cpuSet(t, "2"), own: 4, joint: 4, near: 1}}, 1, "2"},
		{"Slurm gives half a core", []place{{host: "a", allowed: cpuSet(t, "0-3"), own: 1}}, 2, "0-1"},
	} {
		var got []string
		for rank, p := range test.all {
			got = append(got, share(test.all, rank, coresOf(p.allowed, test.threads)).String())
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s: %s, want %s", test.name, s, test.want)
		}
	}
}

// TestBoundToOne: that each rank has one core is said where there are more, with the remedy.
func TestBoundToOne(t *testing.T) {
	bound := func(host, cpus, free string, own, joint int) place {
		return place{host: host, allowed: cpuSet(t, cpus), grantable: cpuSet(t, free), cores: len(cpuSet(t, cpus)), own: own, joint: joint}
	}
	for _, test := range []struct {
		name string
		all  []place
		env  string
		want string
	}{
		{"a core each of as many", []place{bound("a", "0", "0-1", 0, 0), bound("a", "1", "0-1", 0, 0)}, "OMPI_COMM_WORLD_RANK", ""},
		{"not bound", []place{bound("a", "0-7", "0-7", 0, 0), bound("a", "0-7", "0-7", 0, 0)}, "OMPI_COMM_WORLD_RANK", ""},
		{"Open MPI", []place{bound("a", "0", "0-15", 0, 0), bound("a", "1", "0-15", 0, 0)}, "OMPI_COMM_WORLD_RANK", "--map-by slot:PE=8"},
		{"the second machine", []place{bound("a", "0-7", "0-7", 0, 0), bound("b", "1", "0-7", 0, 0)}, "PMI_RANK", "each rank on b is bound to one core, and 8 CPUs could be had: mpirun -bind-to none"},
		{"Slurm", []place{bound("a", "0", "0-15", 0, 16), bound("a", "1", "0-15", 0, 16)}, "SLURM_STEP_ID", "srun --cpus-per-task=8"},
		{"what sbatch gives a task is not had", []place{bound("a", "0", "0-15", 8, 2), bound("a", "1", "0-15", 8, 2)}, "SLURM_STEP_ID", ""},
		{"Slurm gives no more", []place{bound("a", "0", "0-15", 1, 2), bound("a", "1", "0-15", 1, 2)}, "SLURM_STEP_ID", ""},
	} {
		got := boundToOne(test.all, func(name string) string {
			if name == test.env {
				return "1"
			}
			return ""
		})
		if !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestGranted: what the variables of launchers say, as they were seen, of one process.
func TestGranted(t *testing.T) {
	for _, test := range []struct {
		name, env        string
		own, joint, near int
	}{
		{"nothing", "", 0, 0, 0},
		{"no job", "SLURM_CPUS_PER_TASK=4 SLURM_CPUS_ON_NODE=8", 0, 0, 0},
		{"a batch script", "SLURM_JOB_ID=7 SLURM_CPUS_PER_TASK=4 SLURM_CPUS_ON_NODE=8 SLURM_TASKS_PER_NODE=2(x2) SLURM_NODEID=0", 4, 8, 0},
		{"a step that did not heed the job's", "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_CPUS_PER_TASK=4 SLURM_CPUS_ON_NODE=1 SLURM_NODEID=1 SLURM_STEP_TASKS_PER_NODE=1(x2) SLURM_TASKS_PER_NODE=1(x2) SLURM_JOB_CPUS_PER_NODE=4(x2)", 4, 1, 1},
		{"unlike nodes, the last", "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_NODEID=3 SLURM_TASKS_PER_NODE=2(x3),1 SLURM_JOB_CPUS_PER_NODE=16(x3),6 SLURM_JOB_NODELIST=a[1-3],b SLURMD_NODENAME=b", 0, 6, 1},
		{"unlike nodes, the third", "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_NODEID=2 SLURM_TASKS_PER_NODE=2(x3),1 SLURM_JOB_CPUS_PER_NODE=16(x3),6 SLURM_JOB_NODELIST=a[1-3],b SLURMD_NODENAME=a3 SLURM_CPUS_ON_NODE=24", 0, 16, 2},
		{"a step on the job's second node", "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=3 SLURM_TASKS_PER_NODE=2,3 SLURM_JOB_CPUS_PER_NODE=16,6 SLURM_JOB_NODELIST=a[1-2] SLURMD_NODENAME=a2", 0, 6, 3},
		{"Open MPI", "OMPI_COMM_WORLD_LOCAL_SIZE=4", 0, 0, 4},
		{"MPICH", "MPI_LOCALNRANKS=3 PMI_RANK=1", 0, 0, 3},
		{"MVAPICH", "MV2_COMM_WORLD_LOCAL_SIZE=2", 0, 0, 2},
		{"mpirun in a job", "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_NODEID=0 SLURM_TASKS_PER_NODE=1(x2) OMPI_COMM_WORLD_LOCAL_SIZE=2 SLURM_CPUS_ON_NODE=8", 0, 8, 2},
		{"nonsense", "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_NODEID=x SLURM_CPUS_PER_TASK=-1 SLURM_CPUS_ON_NODE=many SLURM_TASKS_PER_NODE=2(x SLURM_JOB_CPUS_PER_NODE=(x2) SLURM_JOB_NODELIST=n[ SLURMD_NODENAME=n", 0, 0, 0},
	} {
		env := map[string]string{}
		for _, word := range strings.Fields(test.env) {
			name, value, _ := strings.Cut(word, "=")
			env[name] = value
		}
		own, joint, near := granted(func(name string) string { return env[name] })
		if own != test.own || joint != test.joint || near != test.near {
			t.Errorf("%s: own %d, joint %d, near %d, want %d, %d, %d", test.name, own, joint, near, test.own, test.joint, test.near)
		}
	}
}

// TestOnNode: lists of numbers as Slurm writes them, and what is none.
func TestOnNode(t *testing.T) {
	for _, test := range []struct {
		list string
		want string // of nodes -1 to 4
	}{
		{"2(x3),1", "[0 2 2 2 1 0]"}, {"4", "[0 4 0 0 0 0]"}, {"1,2,3", "[0 1 2 3 0 0]"}, {"", "[0 0 0 0 0 0]"},
		{"2(x3", "[0 0 0 0 0 0]"}, {"(x3)", "[0 0 0 0 0 0]"}, {"2(x0)", "[0 0 0 0 0 0]"}, {"0,2", "[0 0 0 0 0 0]"}, {"2(x-1),5", "[0 0 0 0 0 0]"}, {"1,,3", "[0 1 0 0 0 0]"},
	} {
		var got []int
		for node := -1; node < 5; node++ {
			got = append(got, onNode(test.list, node))
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("%q: %v, want %s", test.list, got, test.want)
		}
	}
}

// TestPlaceText: what a rank says of where it runs, others read.
func TestPlaceText(t *testing.T) {
	env := map[string]string{"SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "3", "SLURM_CPUS_ON_NODE": "12", "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}
	m := topo.Detect()
	m.CPUQuota = 0
	p := here("node7", m, func(name string) string { return env[name] })
	if p.own != 3 || p.joint != 12 || p.near != 4 || len(p.grantable) < len(p.allowed) {
		t.Errorf("%+v", p)
	}
	if q, err := parsePlace(p.text()); err != nil || q.text() != p.text() {
		t.Errorf("%q became %q, error %v", p.text(), q.text(), err)
	}
	if _, err := parsePlace("node7\n0-3"); err == nil {
		t.Error("a part of it is taken")
	}
}
