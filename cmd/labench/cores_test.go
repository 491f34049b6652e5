package main

import (
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

// TestPlaceText: what a rank says of where it runs, others read.
func TestPlaceText(t *testing.T) {
	env := map[string]string{"SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "3", "SLURM_CPUS_ON_NODE": "12"}
	p := here("node7", topo.Detect(), func(name string) string { return env[name] })
	if p.own != 3 || p.joint != 12 || len(p.grantable) < len(p.allowed) {
		t.Errorf("%+v", p)
	}
	if q, err := parsePlace(p.text()); err != nil || q.text() != p.text() {
		t.Errorf("%q became %q, error %v", p.text(), q.text(), err)
	}
	if _, err := parsePlace("node7\n0-3"); err == nil {
		t.Error("a part of it is taken")
	}
}
