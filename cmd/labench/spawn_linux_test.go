package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/topo"
)

// TestLocalEnds: agents of --cluster local:N have cores of their own, if there are enough, and
// go with the process that has started them, when it is interrupted and when it is killed.
func TestLocalEnds(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		var out console
		c := exec.Command(os.Args[0], strings.Fields("gemm -n 600 --repeat 1000000 --verify=false --cluster local:2 --node-timeout 20s")...)
		c.Env = append(os.Environ(), "TEST_LABENCH=1", "XDG_CACHE_HOME="+t.TempDir())
		c.Stdout, c.Stderr = &out, &out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer end(c)
		agents := children(t, c.Process.Pid, 2)
		if a, b := allowed(t, agents[0]), allowed(t, agents[1]); a == b && topo.Detect().Workers() > 1 {
			t.Errorf("two agents share the CPUs %s", a)
		}
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		err := c.Wait()
		if signal == syscall.SIGINT && (c.ProcessState.ExitCode() != cli.ExitInterrupted || !strings.Contains(out.String(), "interrupted")) {
			t.Errorf("interrupted: %v: %s", err, &out)
		}
		for _, pid := range agents {
			for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
				if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err != nil || len(b) == 0 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%v: agent %d is left", signal, pid)
				}
			}
		}
	}
}

// allowed returns the CPUs on which a process may run.
func allowed(t *testing.T, pid int) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	cpus, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(cpus)
}

// children waits until a process has so many children that are agents, and returns them.
func children(t *testing.T, parent, want int) (all []int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		all = nil
		entries, err := os.ReadDir("/proc")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			pid, of := 0, 0
			if _, err := fmt.Sscan(e.Name(), &pid); err != nil {
				continue
			}
			stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
			_, rest, _ := strings.Cut(string(stat), ") ")
			_, err := fmt.Sscanf(rest[min(2, len(rest)):], "%d", &of)
			cmdline, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
			if err == nil && of == parent && strings.Contains(string(cmdline), "--attached") {
				all = append(all, pid)
			}
		}
		if len(all) == want {
			return all
		}
	}
	t.Fatalf("%d of %d agents have started", len(all), want)
	return nil
}
