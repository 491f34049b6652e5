//go:build mpi && linux && cgo

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tessera-la/tessera/internal/cli"
)

// mpirun starts n ranks of labench by a command, which may be empty, or options of the launcher
// before it, and returns how they are to end and what they say.
func mpirun(ctx context.Context, t *testing.T, n int, by []string, args ...string) (*exec.Cmd, *console) {
	t.Helper()
	line := append(launcher(), "-n", strconv.Itoa(n))
	line = append(append(append(line, by...), os.Args[0]), args...)
	c := exec.CommandContext(ctx, line[0], line[1:]...)
	c.Env = append(os.Environ(), "TEST_LABENCH=1")
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // which it passes on
	c.WaitDelay = 10 * time.Second
	out := &console{}
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(c) })
	return c, out
}

// exited reports whether err is that of a process which has ended by itself, or by a signal.
func exited(err error) bool {
	_, ok := errors.AsType[*exec.ExitError](err)
	return ok
}

// TestRanks: rank 0 drives and says what came of it, once; the ranks share the machine out, and
// compute; what is wrong on a rank all end with.
func TestRanks(t *testing.T) {
	run := func(by []string, args ...string) (text string, code int) {
		t.Helper()
		c, out := mpirun(t.Context(), t, 2, by, append(args, "--repeat", "1", "--profile", "none", "--cluster", "mpi")...)
		if err := c.Wait(); err != nil && !exited(err) {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " "), c.ProcessState.ExitCode()
	}
	for _, args := range []string{"cholesky -n 300 --nb 50", "lu -n 300 --nb 50 --distributed"} {
		text, code := run(nil, strings.Fields(args)...)
		if code != cli.ExitPassed || strings.Count(text, "residual") != 1 || !strings.Contains(text, "pass") || !strings.Contains(text, "2 nodes") || !strings.Contains(text, "rank1 ") {
			t.Errorf("%s: exit code %d: %s", args, code, text)
		}
	}
	if text, code := run(nil, "cholesky", "-n", "-1"); code != cli.ExitUsage || strings.Count(text, "labench: ") != 1 {
		t.Errorf("a wrong order: exit code %d: %s", code, text)
	}
	if text, code := run(nil, "cholesky", "-n", "64", "--devices", "cuda:7"); code == cli.ExitPassed || strings.Count(text, "labench: ") != 1 {
		t.Errorf("a device that there is not: exit code %d: %s", code, text)
	}
	if text, code := run([]string{"taskset", "-c", "0"}, "cholesky", "-n", "64"); code != cli.ExitPassed || !strings.Contains(text, "is bound to one core, and") || !strings.Contains(text, "-bind-to none") {
		t.Errorf("both bound to one core: exit code %d: %s", code, text)
	}
}

// TestRankScale: ranks serve one driver after the other, each with the first so many of them.
func TestRankScale(t *testing.T) {
	run := func(args ...string) (text string, code int) {
		t.Helper()
		c, out := mpirun(t.Context(), t, 3, nil, append(strings.Fields("scale cholesky -n 300 --nb 64 --repeat 1 --warmup 0 --profile none --cluster mpi --distributed"), args...)...)
		if err := c.Wait(); err != nil && !exited(err) {
			t.Fatal(err)
		}
		return out.String(), c.ProcessState.ExitCode()
	}
	text, code := run("--sched", "owner,fifo", "--json")
	var seen []string
	for line := range strings.Lines(text) {
		var p struct {
			Nodes    int     `json:"nodes_computing"`
			Sched    string  `json:"sched"`
			Passed   bool    `json:"passed"`
			Residual float64 `json:"residual"`
		}
		if json.Unmarshal([]byte(line), &p) == nil && p.Passed && p.Residual > 0 {
			seen = append(seen, fmt.Sprint(p.Nodes, p.Sched))
		}
	}
	if want := []string{"1owner", "2owner", "1fifo", "2fifo"}; code != cli.ExitPassed || !slices.Equal(seen, want) {
		t.Errorf("exit code %d, points %q, want %q: %s", code, seen, want, text)
	}
	if text, code := run("--nodes", "3"); code != cli.ExitUsage || strings.Count(text, "2 ranks beside rank 0") != 1 {
		t.Errorf("too few ranks: exit code %d: %s", code, text)
	}
}

// TestRankLost: under mpirun, which ends all ranks with one that is killed, the job ends soon, and
// the next one goes on from its state.
func TestRankLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "states")
	args := strings.Fields("cholesky -n 1500 --nb 50 --every 6 --repeat 1 --warmup 0 --profile none --distributed --cluster mpi --checkpoint " + dir)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // seconds, but for a busy machine
	defer cancel()
	noted := filepath.Join(t.TempDir(), "rank")
	c, out := mpirun(ctx, t, 2, noting(noted), args...)
	killOnState(ctx, t, dir, noted+"1", out)
	if err := c.Wait(); !exited(err) || ctx.Err() != nil {
		t.Fatalf("after the loss of a rank: error %v: %s", errors.Join(err, ctx.Err()), out)
	}
	c, out = mpirun(ctx, t, 2, nil, append(args, "--resume")...)
	if err := c.Wait(); err != nil || !strings.Contains(out.String(), "pass") {
		t.Fatalf("resumed: error %v: %s", err, out)
	}
}

// TestRankDriverLost: where the launcher keeps them, the other ranks end soon after the one that
// drives, with cli.ExitLost. If it was giving one of them a value, this one has MPI end all, with
// cli.ExitLost as well.
func TestRankDriverLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "states")
	args := strings.Fields("cholesky -n 1500 --nb 50 --every 6 --repeat 1 --warmup 0 --profile none --distributed --cluster mpi --node-timeout 5s --checkpoint " + dir)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // seconds, but for a busy machine
	defer cancel()
	noted := filepath.Join(t.TempDir(), "rank")
	c, out := mpirun(ctx, t, 3, append(keeping(), noting(noted)...), args...)
	killOnState(ctx, t, dir, noted+"0", out)
	if err := c.Wait(); err != nil && !exited(err) || ctx.Err() != nil {
		t.Fatalf("error %v: %s", errors.Join(err, ctx.Err()), out)
	}
	all := c.ProcessState.ExitCode() == cli.ExitLost && strings.Count(out.String(), "MPI cannot go on") == 1
	for _, rank := range []string{"1", "2"} {
		code, err := os.ReadFile(noted + rank + ".code")
		if lost := err == nil && strings.TrimSpace(string(code)) == strconv.Itoa(cli.ExitLost); !lost && !all {
			t.Errorf("rank %s: exit code %s, error %v, want %d: %s", rank, code, err, cli.ExitLost, out)
		}
	}
}

// noting has each rank write its process into the file path+rank, and its exit code into
// path+rank.code. It passes SIGUSR1 on, which MPICH's launcher sends its ranks.
func noting(path string) []string {
	return []string{"sh", "-c", `f=$0${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
"$@" & p=$!
trap 'kill -USR1 $p' USR1
echo $p >"$f.new"; mv "$f.new" "$f"
wait $p; code=$?
while kill -0 $p 2>/dev/null; do wait $p; code=$?; done
echo $code >"$f.code"; exit $code`, path}
}

// killOnState kills the process that a file names as soon as there is a state in dir.
func killOnState(ctx context.Context, t *testing.T, dir, file string, out *console) {
	t.Helper()
	for {
		if states, _ := filepath.Glob(filepath.Join(dir, "*.state")); len(states) > 0 {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("there is no state: %s", out)
		}
		time.Sleep(time.Millisecond)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
}
