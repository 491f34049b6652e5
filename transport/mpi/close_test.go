//go:build mpi && linux && cgo

package mpi

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/tessera-la/tessera/transport/mpi/internal/libmpi"
)

var late = flag.Bool("late", false, "only end, rank 0 later than the others; set by TestCloseLate")

// TestCloseLate: a rank that comes to Close late, and lets MPI get on before, ends as do the
// others, which wait for it there. With MPICH 4.0 the two would wait for each other for ever,
// if they were on two machines: this has it take them to be so.
func TestCloseLate(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // seconds, but for a busy machine
	defer cancel()
	args := append(launcher(), os.Args[0], "-late")
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "MPIR_CVAR_NOLOCAL=1", "UCX_TLS=tcp,self"} // not of this rank
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }                                                     // which it passes on
	c.WaitDelay = 10 * time.Second
	if out, err := c.CombinedOutput(); err != nil || ctx.Err() != nil {
		t.Fatalf("error %v: %s", errors.Join(err, ctx.Err()), out)
	}
}

// closeLate is a rank of TestCloseLate.
func closeLate() error {
	w, err := Open()
	if err != nil {
		return err
	}
	c, err := w.lib.Comm(w.Size())
	for start := time.Now(); err == nil && w.Rank() == 0 && time.Since(start) < 300*time.Millisecond; {
		_, err = c.Probe(1, &libmpi.Found{})
	}
	if e := w.Close(); !errors.Is(e, ErrStuck) { // nor may it last for ever
		err = errors.Join(err, e)
	}
	return err
}
