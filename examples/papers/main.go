// Command papers runs what only a reader of the papers that Tessera follows wants to see: their figures
// in virtual time, and their applications here.
//
//	go run ./examples/papers                  lists what there is
//	go run ./examples/papers figures          makes figures of the papers
//	go run ./examples/papers loop components  compares ways to hand out the items of loops
//	go run ./examples/papers nested           compares flat and nested tasks on several nodes
//	go run ./examples/papers eager            compares lazy and eager release of outputs
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/examples/papers/internal/eager"
	"github.com/tessera-la/tessera/examples/papers/internal/nested"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, cli.New(), os.Args[1:]))
}

// run executes a command line and returns the exit code of the process.
func run(ctx context.Context, a *cli.App, args []string) int {
	cmd := &cobra.Command{Use: "papers", Short: "Run what the papers that Tessera follows measured", SilenceErrors: true, SilenceUsage: true}
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.SetOut(a.Out)
	cmd.SetErr(a.Err)
	cmd.SetArgs(append([]string{}, args...)) // never nil, which means the process's
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return cli.Usage(cli.FlagError(cmd, err)) })
	cmd.AddCommand(newFiguresCommand(a), newLoopCommand(a),
		newStudyCommand("nested", "Compare flat and nested tasks on several nodes", nested.Run),
		newStudyCommand("eager", "Compare lazy and eager release of outputs on two nodes", eager.Run))
	err := cmd.ExecuteContext(ctx)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return cli.ExitPassed
	}
	report.FprintWrapped(a.Err, "papers: ", err.Error())
	if _, wrong := errors.AsType[*cli.UsageError](err); wrong {
		return cli.ExitUsage
	}
	return cli.ExitFailed
}

// newStudyCommand returns a command that runs a study, which reads its flags itself.
func newStudyCommand(name, short string, study func(context.Context, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " [flags]", Short: short, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error { return study(cmd.Context(), args) },
	}
}
