package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	"github.com/tessera-la/tessera/cmd/labench/internal/ops"
	"github.com/tessera-la/tessera/exec/monitor"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
)

// run executes the command line args and returns the exit code of the process.
func run(ctx context.Context, a *cli.App, args []string) int {
	node.Hush(a, args)
	cmd := root(a)
	cmd.SetArgs(append([]string{}, args...)) // never nil: cobra would take the arguments of the process
	cmd, err := cli.Misspelt(cmd, args)
	if err == nil {
		cmd, err = cmd.ExecuteContextC(ctx)
	}
	if err == nil {
		return cli.ExitPassed
	}
	if cli.HasType[*node.SaidError](err) {
		return cli.ExitPassed // or the launcher might end rank 0 before it has printed the error and returned its code
	}
	if ctx.Err() != nil {
		fmt.Fprintln(a.Err, "labench: interrupted")
		return cli.ExitInterrupted
	}
	text, remedy := ops.InWords(err)
	if remedy == "" && cli.HasType[*cli.UsageError](err) {
		remedy = cli.SeeHelp(cmd)
	}
	if text = strings.TrimSpace(text + "\n" + remedy); a.Job {
		fmt.Fprintln(a.Err, "labench: "+text)
	} else {
		report.FprintWrapped(a.Err, "labench: ", text)
	}
	return exitCode(err)
}

// exitCode returns the exit code for err. Errors that only the engine finds have the same codes as those of the
// command line: ExitUsage for an invalid command line, ExitNoDevice for a missing device.
func exitCode(err error) int {
	switch {
	case cli.HasType[*cli.UsageError](err), cli.HasType[*movedError](err), cli.HasType[*monitor.AddressError](err), cli.HasType[*versions.UnknownNameError](err), cli.HasType[*versions.ConfigError](err), cli.HasType[*la.OptionsError](err):
		return cli.ExitUsage
	case cli.HasType[*cuda.NoDeviceError](err):
		return cli.ExitNoDevice
	case cli.HasType[*node.LostError](err):
		return cli.ExitLost
	}
	return cli.ExitFailed
}
