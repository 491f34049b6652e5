//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
)

// TestResume: a process that factors with --checkpoint is killed in the middle; another one
// goes on with --resume, and its result has the same residual, to the last bit, as that of a
// run that nobody disturbs. Alone, and on agents that outlive the driver, with matrices in
// its memory and on the agents.
func TestResume(t *testing.T) {
	first := ""
	for range 2 {
		args := []string{"agent", "--listen", "127.0.0.1:0", "--workers", "1", "--node-timeout", detection.String()}
		if first != "" {
			args = append(args, "--peers", first)
		}
		if _, address := process(t, args...); first == "" {
			first = address
		}
	}
	nodes := " --cluster " + first + " --agents 2 --idle --node-timeout " + detection.String()
	for _, line := range []string{
		"lu -n 500 --nb 50 --workers 1 --versions go",
		"cholesky -n 600 --nb 50 --workers 1" + nodes,
		"qr -n 400 --nb 50 --workers 1 --distributed" + nodes,
	} {
		args := append(strings.Fields(line), "--profile", "none", "--json")
		if strings.Contains(line, "--cluster") {
			args = append(strings.Fields(line), "--json")
		}
		result := func(more ...string) (r bench.Result) {
			t.Helper()
			code, out, errs := labench(t, append(args, more...)...)
			if code != 0 {
				t.Fatalf("%s %v: exit code %d: %s", line, more, code, errs)
			}
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatal(err)
			}
			return r
		}
		want := result("--repeat", "1", "--warmup", "0")
		dir := filepath.Join(t.TempDir(), "states")
		if code, _, errs := labench(t, append(args, "--checkpoint", dir, "--resume")...); code == 0 || !strings.Contains(errs, "no state") {
			t.Errorf("%s: resumed from nothing: exit code %d: %s", line, code, errs)
		}
		c := exec.Command(os.Args[0], append(args, "--checkpoint", dir, "--every", "1")...)
		c.Env = append(os.Environ(), "TEST_LABENCH=1")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); ; time.Sleep(100 * time.Microsecond) {
			if states, _ := filepath.Glob(filepath.Join(dir, "*.state")); len(states) > 1 {
				break
			}
			if time.Since(began) > 5*time.Minute {
				t.Fatalf("%s: no states", line)
			}
		}
		end(c) // by SIGKILL
		got := result("--checkpoint", dir, "--resume")
		if got.Resumed < 2 || !got.Passed || got.Residual != want.Residual || !got.Residual.Finite() {
			t.Errorf("%s: resumed after %d panels, residual %v, want %v", line, got.Resumed, got.Residual, want.Residual)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %v is left", line, left)
		}
	}
	for _, wrong := range []string{"lu -n 100 --resume", "cholesky -n 100 --every 3", "cholesky -n 100 --checkpoint x --every -1", "lu -n 100 --checkpoint x --resume --repeat 2"} {
		if code, _, _ := labench(t, strings.Fields(wrong)...); code != 2 {
			t.Errorf("%s: exit code %d", wrong, code)
		}
	}
}
