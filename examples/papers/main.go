// Command papers is for readers of the papers that Tessera follows. It makes their figures in virtual time, and
// runs their applications on this machine.
//
//	go run ./examples/papers                  lists what there is
//	go run ./examples/papers figures          makes figures of the papers
//	go run ./examples/papers loop components  compares ways to hand out the items of loops
//	go run ./examples/papers nested           compares flat and nested tasks on several nodes
//	go run ./examples/papers eager            compares lazy and eager release of outputs
//	go run ./examples/papers qr               compares forms of the rotations of a QR factorization
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/examples/papers/internal/eager"
	"github.com/tessera-la/tessera/examples/papers/internal/loopapps"
	"github.com/tessera-la/tessera/examples/papers/internal/nested"
	"github.com/tessera-la/tessera/examples/papers/internal/rotations"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/internal/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := cli.ExitPassed
	err := study.Main(func() error { code = run(ctx, cli.New(), os.Args[1:]); return nil }, loopapps.Node)
	if err != nil { // of an agent
		report.FprintWrapped(os.Stderr, "papers: ", err.Error())
		code = cli.ExitFailed
	}
	os.Exit(code)
}

// run executes a command line and returns the exit code of the process.
func run(ctx context.Context, a *cli.App, args []string) int {
	root := &cobra.Command{Use: "papers", Short: "Run what the papers that Tessera follows measured", SilenceErrors: true, SilenceUsage: true}
	cli.Prepare(root)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would take the arguments of the process
	root.AddCommand(newFiguresCommand(a), newLoopCommand(a),
		newStudyCommand("nested", "Compare flat and nested tasks on several nodes", nested.Define),
		newStudyCommand("eager", "Compare lazy and eager release of outputs on two nodes", eager.Define),
		newStudyCommand("qr", "Compare forms of the rotations of a QR factorization", rotations.Define))
	cmd, err := cli.Misspelt(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	if err == nil {
		return cli.ExitPassed
	}
	text, code := err.Error(), cli.ExitFailed
	if _, wrong := errors.AsType[*cli.UsageError](err); wrong {
		text, code = text+"\n"+cli.SeeHelp(cmd), cli.ExitUsage
	}
	report.FprintWrapped(a.Err, "papers: ", text)
	return code
}

// newStudyCommand returns a command that runs a study with the flags that define defines.
func newStudyCommand(name, short string, define func(*flag.FlagSet) func(context.Context) error) *cobra.Command {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	run := define(flags)
	cmd := &cobra.Command{Use: name, Short: short, Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) }}
	cmd.Flags().AddGoFlagSet(flags)
	return cmd
}
