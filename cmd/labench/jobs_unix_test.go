//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/jobs"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/transport/web/certs"
)

// TestSubmitTree: jobs at an agent of a tree, with certificates: one that is done, with its report and
// matrix, one that fails, and one that is cancelled. The agent is killed and started again while
// one runs, which is begun again.
func TestSubmitTree(t *testing.T) {
	dir := t.TempDir()
	authority, _, err := certs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"node1", "node2", "laptop"} {
		if err := authority.Node(filepath.Join(dir, name), name, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	own := func(name string) string { return filepath.Join(dir, name) }
	first := freePort(t)
	agent := func() (func(), string) {
		c, to := saying(t, ` takes jobs on (\S+)`, "agent", "--listen", first, "--certs", own("node1"), "--workers", "1", "--node-timeout", "20s", "--jobs", "127.0.0.1:0", "--spool", own("spool"))
		return func() {
			_ = c.Process.Signal(syscall.SIGKILL)
			_ = c.Wait()
		}, to
	}
	kill, to := agent()
	process(t, "agent", "--listen", "127.0.0.1:0", "--certs", own("node2"), "--workers", "1", "--node-timeout", "20s", "--peers", first, "--parent", "node1")
	ask := func(command string, args ...string) (int, string, string) {
		t.Helper()
		return labench(t, append([]string{command, "--to", to, "--certs", own("laptop")}, args...)...)
	}
	var code int
	var out, errs string
	for end := time.Now().Add(5 * time.Minute); !strings.Contains(out, "\n  node2 "); { // below node1
		if code, out, errs = labench(t, "cluster", "status", "--cluster", first, "--certs", own("laptop")); code != 0 || time.Now().After(end) {
			t.Fatalf("exit code %d: %s%s", code, out, errs)
		}
	}
	code, out, errs = ask("submit", strings.Fields("--wait --keep lu -n 200 --nb 64 --distributed")...)
	if code != 0 || !strings.Contains(out, "job 1 is done") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	var r bench.Result
	if code, out, errs = ask("result", "1", "--json"); code != 0 || json.Unmarshal([]byte(out), &r) != nil || !r.Passed || r.N != 200 || len(r.Nodes) < 2 || r.Nodes[0].Name != "node1/job1" || r.Nodes[1].Name != "node1" {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if code, out, errs = ask("result", "1"); code != 0 || !strings.Contains(out, "problem    lu") || !strings.Contains(out, "residual   ") || strings.Contains(out, "{") {
		t.Errorf("the report: exit code %d: %s%s", code, out, errs)
	}
	if code, log, errs := ask("result", "1", "--log"); code != 0 || !strings.Contains(log, out) {
		t.Errorf("the log has not the report: exit code %d: %s%s", code, log, errs)
	}
	matrix := own("lu.npy")
	code, _, errs = ask("result", "1", "--matrix", matrix)
	if b, err := os.ReadFile(matrix); code != 0 || err != nil || !bytes.Contains(b[:min(len(b), 128)], []byte("'shape': (200, 200)")) {
		t.Errorf("exit code %d: %s, %v", code, errs, err)
	}
	if code, _, errs = ask("submit", strings.Fields("--wait --input "+matrix+" cholesky")...); code != cli.ExitFailed || !strings.Contains(errs, "symmetric") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs = ask("result", "2"); code != cli.ExitFailed || !strings.Contains(errs, "job 2 has failed") || !strings.Contains(errs, "symmetric") {
		t.Errorf("the result of a job that has failed: exit code %d: %s", code, errs)
	}
	ask("submit", strings.Fields("cholesky -n 1000 --nb 128 --repeat 1000000 --distributed")...) // it does not end by itself
	ask("submit", strings.Fields("gemm -n 100")...)
	running := func(begun int) {
		t.Helper()
		for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			var j jobs.Job
			code, out, errs := ask("status", "3", "--json")
			if code == 0 && json.Unmarshal([]byte(out), &j) == nil && j.State == jobs.Running && j.Begun == begun && j.Part > 0 { // its process computes
				return
			}
			if time.Now().After(end) {
				t.Fatalf("exit code %d: %s%s", code, out, errs)
			}
		}
	}
	running(1)
	kill()
	_, to = agent()
	running(2)
	if code, out, errs = ask("cancel", "3"); code != 0 || !strings.Contains(out, "job 3 is told to end") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		code, out, errs = ask("status")
		if strings.Count(out, "done after") == 2 && strings.Contains(out, "cancelled after") && strings.Contains(out, "begun 2 times, from laptop") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("exit code %d: %s%s", code, out, errs)
		}
	}
	labtest.Narrow(t, "status", out)
	if code, out, errs = ask("cancel", "1"); code != 0 || !strings.Contains(out, "job 1 was done before") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if code, out, errs = ask("cancel", "1", "--remove"); code != 0 || !strings.Contains(out, "job 1 is removed") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestSubmitRefused: what labench submit and the others refuse by themselves.
func TestSubmitRefused(t *testing.T) {
	for args, want := range map[string]string{
		"submit":                                                 "want an operation",
		"submit --to 127.0.0.1:9 nothing":                        "unknown operation",
		"submit --to 127.0.0.1:9 lu -n x":                        "want a whole number",
		"submit --to 127.0.0.1:9 lu --verify=flase":              "\"flase\" is not allowed; want true or false",
		"submit --to 127.0.0.1:9 lu --policy fifo":               "Did you mean --sched?",
		"submit --to 127.0.0.1:9 lu -n -3":                       "at least 1",
		"submit --to 127.0.0.1:9 lu --input /etc/passwd":         "no --input",
		"submit --to 127.0.0.1:9 lu --cluster 10.0.0.1:1":        "no --cluster",
		"submit --to 127.0.0.1:9 lu --checkpoint /tmp":           "no --checkpoint",
		"submit --to 127.0.0.1:9 lu --profile x --name y":        "no --profile",
		"submit --to 127.0.0.1:9 lu more":                        "flags only",
		"submit --to 127.0.0.1:9 --keep lu":                      "is for --distributed",
		"submit --to 127.0.0.1:9 --keep lu --distributed=false":  "is for --distributed",
		"submit --to 127.0.0.1:9 --checkpoint gemm":              "is for factorizations",
		"submit --to 127.0.0.1:9 lu --every 2":                   "submit --checkpoint",
		"submit --to 127.0.0.1:9 lu --distributed --sched best":  "--sched",
		"submit --to 127.0.0.1:9 lu --sched owner":               "is for --distributed",
		"submit --to 127.0.0.1:9 --input x.txt lu":               "ends with one of",
		"submit --to 127.0.0.1:9 --input /nowhere.npy lu":        "no such file",
		"submit --to 127.0.0.1:9 lu -n 10":                       "does not answer",
		"submit --to 10.0.0.1:9 lu -n 10":                        "loopback addresses",
		"submit lu -n 10":                                        "which agent? --to wants",
		"status":                                                 "which agent? --to wants",
		"result 1":                                               "which agent? --to wants",
		"result --to 127.0.0.1:9 1 --log --json":                 "exclude each other",
		"status --to 127.0.0.1:9 x":                              "no number of a job",
		"cancel --to 127.0.0.1:9":                                "number of one job",
		"result --to 127.0.0.1:9 1 --log --matrix x":             "exclude each other",
		"agent --jobs 127.0.0.1:0 --listen 127.0.0.1:0":          "need each other",
		"agent --name node1/x --listen 127.0.0.1:0":              "has no slash",
		"lu -n 10 --cluster 127.0.0.1:9 --name node1/job1":       "has no slash",
		"submit --to 127.0.0.1:9 lu --job 3":                     "unknown flag",
		"submit --to 127.0.0.1:9 lu --record x":                  "record",
		"submit --to 127.0.0.1:9 lu -n":                          "want a whole number",
		"submit --to 127.0.0.1:9 lu --":                          "flags only",
		"submit --to 127.0.0.1:9 lu --certs x --output y":        "no --output",
		"agent --jobs 10.0.0.1:1 --spool x --listen 127.0.0.1:0": "loopback addresses",
	} {
		code, _, errs := labench(t, strings.Fields(args)...)
		if code == 0 || !strings.Contains(strings.Join(strings.Fields(errs), " "), want) {
			t.Errorf("labench %s: exit code %d, %s; want a word of %q", args, code, errs, want)
		}
	}
}
