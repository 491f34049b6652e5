package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
	cmd, err := misspelt(cmd, args)
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
	text, remedy := explain(err)
	if remedy == "" && is[*cli.UsageError](err) {
		remedy = "See " + cmd.CommandPath() + " --help."
	}
	if text = strings.TrimSpace(text + "\n" + remedy); a.Job {
		fmt.Fprintln(a.Err, "labench: "+text)
	} else {
		report.FprintWrapped(a.Err, "labench: ", text)
	}
	return exitCode(err)
}

// misspelt returns an error if the command line names an unknown command, and the command to
// which that would belong. Otherwise the error would be about its flags.
func misspelt(root *cobra.Command, args []string) (*cobra.Command, error) {
	for cmd := root; len(args) > 0 && !strings.HasPrefix(args[0], "-") && len(cmd.Commands()) > 0; args = args[1:] {
		word := args[0]
		switch {
		case cmd == root && word == "help":
			continue // for the command that follows
		case cmd == root && (word == "completion" || strings.HasPrefix(word, "__complete")):
			return root, nil // cobra's
		}
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
		if i < 0 {
			what := "command"
			if cmd.Name() == "explain" {
				what = "operation"
			}
			return cmd, cli.Usage(&cli.UnknownError{What: what, Word: word, Known: cli.CommandNames(cmd)})
		}
		cmd = cmd.Commands()[i]
	}
	return root, nil
}

// exitCode returns the exit code for an error: that of a command line that
// makes no sense also where only the engine knew, and that of a device that is
// not there.
func exitCode(err error) int {
	switch {
	case is[*cli.UsageError](err), is[*monitor.AddressError](err), is[*versions.UnknownNameError](err), is[*versions.ConfigError](err), is[*la.OptionsError](err):
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
