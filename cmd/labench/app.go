package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/exec/monitor"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
)

// run executes the command line args and returns the exit code of the
// process.
func run(ctx context.Context, a *cli.App, args []string) int {
	hush(a, args)
	cmd := root(a)
	cmd.SetArgs(append([]string{}, args...)) // never nil, which means the process's
	cmd, err := cli.Misspelt(cmd, args)
	if err == nil {
		cmd, err = cmd.ExecuteContextC(ctx)
	}
	if err == nil {
		return cli.ExitPassed
	}
	if is[*saidError](err) {
		return exitCode(err)
	}
	if ctx.Err() != nil {
		fmt.Fprintln(a.Err, "labench: interrupted")
		return cli.ExitInterrupted
	}
	text, remedy := inWords(err)
	if remedy == "" && is[*cli.UsageError](err) {
		remedy = cli.SeeHelp(cmd)
	}
	if text = strings.TrimSpace(text + "\n" + remedy); a.Job {
		fmt.Fprintln(a.Err, "labench: "+text)
	} else {
		report.FprintWrapped(a.Err, "labench: ", text)
	}
	return exitCode(err)
}

// exitCode returns the exit code for an error: that of a command line that
// makes no sense also where only the engine knew, and that of a device that is
// not there.
func exitCode(err error) int {
	switch {
	case is[*cli.UsageError](err), is[*movedError](err), is[*monitor.AddressError](err), is[*versions.UnknownNameError](err), is[*versions.ConfigError](err), is[*la.OptionsError](err):
		return cli.ExitUsage
	case is[*cuda.NoDeviceError](err):
		return cli.ExitNoDevice
	case is[*lostError](err):
		return cli.ExitLost
	}
	return cli.ExitFailed
}

// is reports whether err is, or wraps, an error of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
