//go:build mpi && linux && cgo && !mpich

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// launcher is Open MPI's. To bind ranks would leave each a core.
func launcher() []string {
	return []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}
}

// TestRankDriverLost: where the launcher keeps them, the other ranks end soon after the one that
// drives, with exitLost, by which deploy/slurm/rank knows. MPICH's mpirun cannot be asked to keep them: it
// sends them SIGUSR1, for which MPICH has a handler that Go does not accept.
func TestRankDriverLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "states")
	args := strings.Fields("cholesky -n 1500 --nb 50 --every 6 --repeat 1 --warmup 0 --profile none --distributed --cluster mpi --node-timeout 5s --checkpoint " + dir)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // seconds, but for a busy machine
	defer cancel()
	noted := filepath.Join(t.TempDir(), "rank")
	c, out := mpirun(ctx, t, 3, append([]string{"--enable-recovery"}, noting(noted)...), args...)
	killOnState(ctx, t, dir, noted+"0", out)
	if err := c.Wait(); err != nil && !is[*exec.ExitError](err) || ctx.Err() != nil {
		t.Fatalf("error %v: %s", errors.Join(err, ctx.Err()), out)
	}
	for _, rank := range []string{"1", "2"} {
		if code, err := os.ReadFile(noted + rank + ".code"); err != nil || strings.TrimSpace(string(code)) != strconv.Itoa(exitLost) {
			t.Errorf("rank %s: exit code %s, error %v, want %d: %s", rank, code, err, exitLost, out)
		}
	}
}
