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
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/mpi/internal/libmpi"
)

var hang = flag.String("hang", "", "only hang in progress, rank 0 alone, and leave a file when it was told; set by TestHang")

// TestHang: a rank whose progress does not come back from MPI is told so, and Close does not wait for it.
// One that waits in Gather or New for another rank does not hang.
func TestHang(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // seconds, but for a busy machine
	defer cancel()
	file := filepath.Join(t.TempDir(), "told") // launchers may lose what a rank prints if it does not finalise MPI
	args := append(launcher(), os.Args[0], "-hang", file)
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")} // not of this rank
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }          // which it passes on
	c.WaitDelay = 10 * time.Second
	// How it ends is the launcher's to say: no rank has finalised MPI.
	out, err := c.CombinedOutput()
	if text, _ := os.ReadFile(file); string(text) != fmt.Sprintf("told: %v, then: %v", errHangs, ErrLost) {
		t.Fatalf("error %v, %q: %s", errors.Join(err, ctx.Err()), text, out)
	}
}

// hangIn is a rank of TestHang. Its progress waits in what it calls when a receive has ended.
func hangIn(file string) error {
	w, err := Open()
	if err != nil {
		return err
	}
	if w.Rank() == 0 {
		go w.watch(20, 50*time.Millisecond)
	} else {
		time.Sleep(2 * time.Second)
	}
	if _, err := w.Gather(""); err != nil {
		return err
	}
	if w.Rank() > 0 {
		time.Sleep(2 * time.Second)
	}
	told := make(chan error, 2)
	n, err := w.New(Options{Broken: func(err error) { told <- err }})
	if err != nil {
		return err
	}
	w.meeting.Add(1)
	c, err := w.lib.Comm(1) // of rank 0
	w.meeting.Add(-1)
	if err == nil && c == nil {
		return await(file)
	}
	if err == nil {
		err = n.Start(func(string, []byte) {}, func(transport.Event) {})
	}
	if err != nil {
		return err
	}
	c.Receive(make([]byte, 1), 0, 1, func(*libmpi.Op) { select {} })
	c.Send(make([]byte, 1), 0, 1, func(*libmpi.Op) {})
	why := <-told
	text := fmt.Appendf(nil, "told: %v, then: %v", why, w.Close())
	return errors.Join(os.WriteFile(file+".new", text, 0o600), os.Rename(file+".new", file)) // others end when they see it
}
