package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
)

// TestLocal: agents are started for a run; they share its workers, and do its work.
func TestLocal(t *testing.T) {
	t.Setenv("TEST_LABENCH", "1")
	code, out, errs := labench(t, strings.Fields("cholesky -n 300 --nb 64 --cluster local:2 --workers 3 --node-timeout 20s --repeat 1 --warmup 0 --json")...)
	var r bench.Result
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	if n := r.Nodes; len(n) != 3 || n[0].Tasks["gemm/f64"] != 0 || n[1].Workers+n[2].Workers != 3 || n[1].Tasks["gemm/f64"]+n[2].Tasks["gemm/f64"] == 0 {
		t.Errorf("nodes %+v", n)
	}
	// Versions and profiles are the agents'.
	profile := filepath.Join(t.TempDir(), "p.json")
	code, out, errs = labench(t, append(strings.Fields("lu -n 300 --nb 64 --cluster local:2 --versions go --node-timeout 20s --repeat 1 --warmup 0 --json --distributed --sched fifo --profile"), profile)...)
	r = bench.Result{}
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil || r.Versions["gemm/go"] == 0 || r.Sched != "fifo" || r.Pivoting != "partial" {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	for i := range 2 {
		if _, err := os.Stat(strings.Replace(profile, "p.", fmt.Sprintf("p.agent%d.", i), 1)); err != nil {
			t.Error(err)
		}
	}
	vectors := filepath.Join(t.TempDir(), "v.npy")
	code, out, errs = labench(t, append(strings.Fields("eigen -n 300 --nb 50 --cluster local:2 --node-timeout 20s --repeat 1 --warmup 0 --json --distributed --output"), vectors)...)
	r = bench.Result{}
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil || !r.Passed || r.NB != 50 || len(r.Checks) != 2 || len(r.Stages) != 5 || r.Nodes[0].Tasks["stedc/f64"] != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	if file, err := os.Stat(vectors); err != nil || file.Size() < 300*300*8 {
		t.Errorf("the vectors: %v", err)
	}
	code, out, errs = labench(t, "cluster", "status", "--cluster", "local:2", "--node-timeout", "20s")
	if code != 0 || strings.Count(out, "127.0.0.1:") != 2 || !strings.Contains(out, "labench devel") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	labtest.Narrow(t, "status", out)
	// An operation that fails once the agents are there.
	if code, _, errs = labench(t, strings.Fields("cholesky -n 300 --matrix indefinite --cluster local:2 --node-timeout 20s")...); code == 0 {
		t.Errorf("it did not fail: %s", errs)
	}
}
