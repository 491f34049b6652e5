//go:build mpi && linux && cgo

package mpi

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var absent = flag.String("absent", "", "only open, rank 0 alone, and leave a file when it has given up; set by TestOpenAbsent")

// TestOpenAbsent: a rank that is alone in Open does not wait for the others for ever.
func TestOpenAbsent(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // seconds, but for a busy machine
	defer cancel()
	args := append(launcher(), os.Args[0], "-absent", filepath.Join(t.TempDir(), "given up"))
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")} // not of this rank
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }          // which it passes on
	c.WaitDelay = 10 * time.Second
	// How it ends is the launcher's to say: a rank has not finalised MPI.
	if out, err := c.CombinedOutput(); !strings.Contains(string(out), "alone: "+ErrAbsent.Error()) {
		t.Fatalf("error %v: %s", errors.Join(err, ctx.Err()), out)
	}
}

// openAlone is a rank of TestOpenAbsent. All but rank 0 only wait until that has given up.
func openAlone(file string) error {
	if rank, _, _ := Launched(); rank > 0 {
		return await(file)
	}
	_, err := open(300*time.Millisecond, false)
	fmt.Println("alone:", err)
	return os.WriteFile(file, nil, 0o600)
}

// await waits for a file.
func await(file string) error {
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}
