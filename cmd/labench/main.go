// Command labench measures the linear algebra of this module on a machine:
// how fast it is, with which versions of the kernels, how far from what the
// machine can do, and whether the results are right.
//
//	labench cholesky
//	labench gemm -n 2048 --type f32 --workers 1
//	labench doctor
//
// It exits with 0 only if every result passed.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/tessera-la/tessera/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, cli.New(), os.Args[1:]))
}
