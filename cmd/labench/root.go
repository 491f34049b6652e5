package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/cmd/labench/internal/acceptance"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/dropin"
	"github.com/tessera-la/tessera/cmd/labench/internal/explain"
	"github.com/tessera-la/tessera/cmd/labench/internal/inspect"
	"github.com/tessera-la/tessera/cmd/labench/internal/metg"
	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	"github.com/tessera-la/tessera/cmd/labench/internal/ops"
	"github.com/tessera-la/tessera/cmd/labench/internal/planner"
	"github.com/tessera-la/tessera/cmd/labench/internal/scale"
	"github.com/tessera-la/tessera/cmd/labench/internal/setup"
	"github.com/tessera-la/tessera/cmd/labench/internal/tune"
	"github.com/tessera-la/tessera/internal/cli"
)

// root returns the command labench with all its subcommands. They write to the writers of a.
func root(a *cli.App) *cobra.Command {
	var tags, version bool
	cmd := &cobra.Command{
		Use:   "labench",
		Short: "Measure blocked linear algebra on this machine, and check its results",
		Example: `  labench cholesky                      factor a 4096×4096 matrix, and check it
  labench gemm -n 2048 --type f32       multiply in single precision
  labench cholesky --input A.mtx        factor a matrix from a file
  labench explain cholesky              why two workers are not twice as fast
  labench doctor                        what slows this machine down`,
		// run prints the error once, with its remedy.
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return cli.Usage(&cli.UnknownError{What: "command", Word: args[0], Known: cli.CommandNames(cmd)})
			case tags:
				return setup.TagsInfo(a, false)
			case version:
				_, err := fmt.Fprintln(a.Out, cli.VersionLine(debug.ReadBuildInfo()))
				return err
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs, // RunE reports wrong arguments better
	}
	cmd.Flags().BoolVar(&tags, "tags-info", false, "say which build tags this program has, and what each adds")
	cmd.Flags().BoolVar(&version, "version", false, "say which version and commit this program was built from")
	cli.Prepare(cmd)
	cmd.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		var errs cli.Problems
		cmd.Flags().Visit(func(f *pflag.Flag) {
			// An empty value may come from an unset variable of a script.
			if f.Value.Type() == "string" && f.Value.String() == "" && f.Name != "versions" && f.Name != "exclude" {
				errs.Note(fmt.Errorf("%s is empty: give it a value, or leave it out", cli.Dashed(f.Name)))
			}
			if n, wrong := cmd.Flags().GetInt(f.Name); wrong == nil && n != int(int32(n)) {
				errs.Note(cli.NotAllowed(f, f.Value.String(), nil))
			}
		})
		errs.Apart(cmd.Flags(), args, []string{"profile", "trace", "dot", "record", "csv", "plot", "output"}, []string{"input", "machine", "resources"})
		return cli.Usage(errors.Join(errs...))
	}
	cmd.SetOut(a.Out)
	cmd.SetErr(a.Err)
	for i, g := range groups() {
		cmd.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		if i == 0 {
			for _, op := range bench.Operations() {
				g.commands = append(g.commands, func(a *cli.App) *cobra.Command { return ops.NewCommand(a, op) })
			}
		}
		for _, f := range g.commands {
			sub := f(a)
			sub.GroupID = g.title
			cmd.AddCommand(sub)
		}
	}
	for _, name := range []string{"figures", "loop"} {
		moved := func(args []string) error {
			return &movedError{name, strings.Join(append([]string{"go run ./examples/papers", name}, args...), " ")}
		}
		cmd.AddCommand(&cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true, Long: moved(nil).Error() + ".",
			RunE: func(_ *cobra.Command, args []string) error { return moved(args) },
		})
	}
	return cmd
}

// movedError says where a removed command is now.
type movedError struct{ name, now string }

func (e *movedError) Error() string { return e.name + " is with the papers now: " + e.now }

// group is a group of commands in labench --help.
type group struct {
	title    string
	commands []func(*cli.App) *cobra.Command // their constructors
}

// groups returns the groups of commands. The operations are added to the first group.
func groups() []group {
	type of = []func(*cli.App) *cobra.Command
	return []group{
		{"Measure:", of{scale.NewCommand, tune.NewCommand, dropin.NewCommand, inspect.NewPeakCommand, metg.NewCommand}},
		{"Explain:", of{explain.NewCommand, inspect.NewListCommand, inspect.NewDoctorCommand}},
		{"Nodes and their jobs:", of{
			func(a *cli.App) *cobra.Command { return node.NewAgentCommand(a, ops.CheckJob) },
			func(a *cli.App) *cobra.Command {
				plan := planner.NewPlanCommand(a)
				plan.Short = "The old name of labench plan"
				return node.NewClusterCommand(a, plan)
			},
			func(a *cli.App) *cobra.Command { return node.NewSubmitCommand(a, ops.CheckJob) },
			node.NewStatusCommand, node.NewResultCommand, node.NewCancelCommand,
		}},
		{"Plan:", of{planner.NewMachineCommand, planner.NewPlanCommand, planner.NewReplayCommand}},
		{"Check a GPU:", of{acceptance.NewCommand}},
	}
}
