package main

import (
	"github.com/spf13/cobra"
)

// newRoot returns the command labench with all its subcommands, which write
// to the process's standard output and error.
func newRoot() *cobra.Command { return newApp().root() }

// root returns the command labench, writing to a's writers.
func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "labench",
		Short: "Measure blocked linear algebra on this machine, and check its results",
		// The caller of Execute prints the error, once and with its remedy.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.SetOut(a.out)
	cmd.SetErr(a.err)
	for _, f := range commands() {
		cmd.AddCommand(f(a))
	}
	return cmd
}

// commands returns the makers of the subcommands, in the order of the help.
func commands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{}
}
