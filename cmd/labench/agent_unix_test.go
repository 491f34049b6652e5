//go:build unix

package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
)

// process starts labench in a process of its own, and returns it and the address that it
// says it listens on.
func process(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	var out console
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), "TEST_LABENCH=1")
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	for range 1000 {
		if m := regexp.MustCompile(` listens on (\S+),`).FindStringSubmatch(out.String()); m != nil {
			return c, m[1]
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("labench %s: %s", args, &out)
	return nil, ""
}

// TestAgentLost: an agent is a process that is killed, or stopped, in the middle. The result
// is right all the same, or the loss is said.
func TestAgentLost(t *testing.T) {
	runs := 2
	if !testing.Short() {
		runs = 10
	}
	rng := rand.New(rand.NewPCG(1, 7))
	lost := 0
	for i := range runs {
		var agents []*exec.Cmd
		first := ""
		for k := range 3 {
			args := []string{"agent", "--listen", "127.0.0.1:0", "--workers", "1", "--node-timeout", "1s"}
			if k > 0 {
				args = append(args, "--peers", first)
			}
			c, address := process(t, args...)
			if agents = append(agents, c); k == 0 {
				first = address
			}
		}
		signal, victim := []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP}[i%2], agents[rng.IntN(3)]
		timer := time.AfterFunc(time.Duration(300+rng.IntN(700))*time.Millisecond, func() { _ = victim.Process.Signal(signal) })
		op := []string{"cholesky", "lu", "qr"}[i%3]
		code, out, errs := labench(t, op, "-n", "1000", "--nb", "100", "--cluster", first, "--agents", "3", "--idle", "--workers", "1", "--node-timeout", "1s", "--json", "--repeat", "4", "--warmup", "0")
		timer.Stop()
		var r bench.Result
		if code != 0 || json.Unmarshal([]byte(out), &r) != nil || !r.Passed {
			t.Fatalf("run %d, %s, %v: exit code %d, %s%s", i, op, signal, code, out, errs)
		}
		for _, n := range r.Nodes {
			if n.Lost {
				lost++
			}
		}
		for _, c := range agents {
			_ = c.Process.Kill()
		}
	}
	if lost == 0 {
		t.Errorf("no agent was lost in %d runs", runs)
	}
}
