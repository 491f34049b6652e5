package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestHostlist: lists as Slurm writes them, and what is none.
func TestHostlist(t *testing.T) {
	for list, want := range map[string]string{
		"":                             "",
		"node1":                        "node1",
		"node[1-3]":                    "node1 node2 node3",
		"node[1-2,7],login":            "node1 node2 node7 login",
		"n[08-11]":                     "n08 n09 n10 n11",
		"gpu[001]-ib":                  "gpu001-ib",
		"rack[0-1]n[2-3],x":            "rack0n2 rack0n3 rack1n2 rack1n3 x",
		"a,b[1,3-4]c,node-7.cluster.x": "a b1c b3c b4c node-7.cluster.x",
	} {
		got, err := hostlist(list)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, error %v, want %q", list, got, err, want)
		}
	}
	for _, list := range []string{",", "a,", ",a", "a,,b", "n[", "n[1", "n[]", "n[1-]", "n[3-1]", "n[x]", "n]1", "n[1-2]]", "n[0-99999999]", "n[0-999][0-999]", "n[-1]"} {
		if got, err := hostlist(list); err == nil {
			t.Errorf("%s: %d nodes", list, len(got))
		}
	}
}

// FuzzHostlist: a list is read or refused, and names no empty node.
func FuzzHostlist(f *testing.F) {
	f.Add("node[1-3,7],login")
	f.Add("rack[0-1]n[08-09]x")
	f.Fuzz(func(t *testing.T, list string) {
		all, err := hostlist(list)
		if err == nil && list != "" && len(all) == 0 || len(all) > hostsMost || slices.Contains(all, "") || slices.ContainsFunc(all, func(n string) bool { return strings.ContainsAny(n, "[],") }) {
			t.Fatalf("%q: %q", list, all)
		}
	})
}

// TestSlurmJob: what Slurm says of a job, of one with unlike parts too, and that there is none.
func TestSlurmJob(t *testing.T) {
	env := map[string]string{"SLURM_JOB_ID": "12345", "SLURM_JOB_NODELIST": "node[1-2]", "SLURMD_NODENAME": "node2"}
	read := func() (slurmJob, error) { return readSlurmJob(func(name string) string { return env[name] }) }
	j, err := read()
	if want := "[node1:22345 node2:22345]"; err != nil || fmt.Sprint(j.peers()) != want || j.node != "node2" {
		t.Errorf("%+v, error %v, want %s", j, err, want)
	}
	env["SLURM_JOB_NODELIST"], env["SLURMD_NODENAME"] = "node7", "node7"
	if j, err = read(); err != nil || fmt.Sprint(j.peers()) != "[127.0.0.1:22345]" || j.listen() != "127.0.0.1:22345" {
		t.Errorf("of one node: %v, error %v", j.peers(), err)
	}
	env["SLURM_HET_SIZE"], env["SLURM_JOB_NODELIST_HET_GROUP_0"], env["SLURM_JOB_NODELIST_HET_GROUP_1"] = "2", "cpu[1-2]", "gpu1,cpu2"
	if j, err = read(); err != nil || fmt.Sprint(j.nodes) != "[cpu1 cpu2 gpu1]" {
		t.Errorf("of two parts: %v, error %v", j.nodes, err)
	}
	env["SLURM_HET_SIZE"], env["SLURM_JOB_NODELIST"] = "", ""
	if _, err = read(); err == nil {
		t.Error("without nodes")
	}
	env["SLURM_JOB_ID"] = ""
	if _, err = read(); err == nil {
		t.Error("without a job")
	}
}
