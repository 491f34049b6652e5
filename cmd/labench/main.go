// Command labench measures the linear algebra of this module on a machine:
// how fast, with which versions of the kernels, how far from what the machine
// can do, and whether the result is right.
//
//	labench cholesky
//	labench gemm -n 2048 --type f32 --workers 1
//	labench doctor
package main

import (
	"context"
	"os"
)

func main() { os.Exit(newApp().run(context.Background(), os.Args[1:])) }

// run executes the command line args and returns the exit code of the
// process.
func (a *app) run(ctx context.Context, args []string) int {
	cmd := a.root()
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		return 1
	}
	return 0
}
