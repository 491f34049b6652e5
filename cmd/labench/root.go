package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
)

// root returns the command labench with all its subcommands, writing to a's writers.
func (a *app) root() *cobra.Command {
	var tags, version bool
	cmd := &cobra.Command{
		Use:   "labench",
		Short: "Measure blocked linear algebra on this machine, and check its results",
		Example: `  labench cholesky                      factor a 4096×4096 matrix, and check it
  labench gemm -n 2048 --type f32       multiply in single precision
  labench cholesky --input A.mtx        factor a matrix from a file
  labench explain cholesky              why two workers are not twice as fast
  labench doctor                        what slows this machine down`,
		// run prints the error, once and with its remedy.
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return usage(&unknownError{"command", args[0], names(cmd)})
			case tags:
				return a.tagsInfo(false)
			case version:
				_, err := fmt.Fprintln(a.out, versionLine(debug.ReadBuildInfo()))
				return err
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs, // RunE has a better answer
	}
	cmd.Flags().BoolVar(&tags, "tags-info", false, "say which build tags this program has, and what each adds")
	cmd.Flags().BoolVar(&version, "version", false, "say which version and commit this program was built from")
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", columns)))
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(flagError(cmd, err)) })
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		var errs problems
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if f.Value.Type() == "string" && f.Value.String() == "" && f.Name != "versions" && f.Name != "exclude" {
				errs.note(fmt.Errorf("%s is empty: give it a value, or leave it out", dashed(f.Name))) // as a script's variable may be
			}
			if n, wrong := cmd.Flags().GetInt(f.Name); wrong == nil && n != int(int32(n)) {
				errs.note(notAllowed(f, f.Value.String(), nil))
			}
		})
		return usage(errors.Join(errs...))
	}
	cmd.SetOut(a.out)
	cmd.SetErr(a.err)
	for _, op := range bench.Operations() {
		cmd.AddCommand(newOpCommand(a, op))
	}
	for _, f := range commands() {
		cmd.AddCommand(f(a))
	}
	return cmd
}

// flagError says in plain words what is wrong with the flags of a command, of which pflag has an error.
func flagError(cmd *cobra.Command, err error) error {
	if bad := (*pflag.InvalidValueError)(nil); errors.As(err, &bad) {
		if f := bad.GetFlag(); f.Shorthand != "" && cmd.Flags().Lookup(f.Shorthand+bad.GetValue()) != nil {
			return fmt.Errorf("unknown flag -%s%s. Did you mean %s?", f.Shorthand, bad.GetValue(), dashed(f.Shorthand+bad.GetValue()))
		}
		return notAllowed(bad.GetFlag(), bad.GetValue(), bad.Unwrap())
	}
	if none := (*pflag.ValueRequiredError)(nil); errors.As(err, &none) {
		return fmt.Errorf("%s wants a value", dashed(none.GetFlag().Name))
	}
	if none := (*pflag.NotExistError)(nil); errors.As(err, &none) {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, f.Name)
			}
		})
		name := none.GetSpecifiedName()
		if whole := none.GetSpecifiedShortnames(); slices.Contains(known, whole) { // -workers
			return fmt.Errorf("unknown flag -%s. Did you mean %s?", whole, dashed(whole))
		}
		if k := synonym(name); slices.Contains(known, k) {
			return fmt.Errorf("unknown flag %s. Did you mean %s?", dashed(name), dashed(k))
		}
		if k := nearest(name, known); k != "" {
			return fmt.Errorf("unknown flag %s. Did you mean %s?", dashed(name), dashed(k))
		}
		return fmt.Errorf("unknown flag %s; %s knows %s", dashed(name), cmd.CommandPath(), dashed(known...))
	}
	return err
}

// dashed returns names of flags as they are given: -n, --nb.
func dashed(names ...string) string {
	var all []string
	for _, n := range names {
		if len(n) == 1 {
			all = append(all, "-"+n)
		} else {
			all = append(all, "--"+n)
		}
	}
	return strings.Join(all, ", ")
}

// synonym returns what a flag is called that other programs, or other parts of this one, call name;
// empty if there is none.
func synonym(name string) string {
	switch name {
	case "policy", "policies", "scheduler":
		return "sched"
	case "size", "sizes", "order", "orders", "dim":
		return "n"
	case "threads", "cores", "jobs", "procs", "j":
		return "workers"
	case "tile", "tiles", "tile-size", "block", "blocksize", "block-size", "b":
		return "nb"
	case "dtype", "precision":
		return "type"
	case "gpu", "gpus", "device":
		return "devices"
	case "file":
		return "input"
	case "runs", "iterations", "reps", "repeats":
		return "repeat"
	case "version":
		return "versions"
	case "check":
		return "verify"
	case "nodes", "agents", "peers":
		return "cluster"
	case "out", "o":
		return "output"
	}
	return ""
}

// notAllowed says in plain words what a flag takes.
func notAllowed(f *pflag.Flag, value string, why error) error {
	want := map[string]string{"int": "a whole number, at most 2147483647", "uint64": "a whole number from 0 to 18446744073709551615",
		"duration": "a time, as in 90s, 5m or 30ms", "bool": "true or false", "float64": "a number", "size": "a number of bytes, as in 1.5GiB or 800MiB", "share": "a number from 0 to 1, as in 0.05"}
	if want[f.Value.Type()] == "" && why != nil {
		return fmt.Errorf("%s: %w", dashed(f.Name), why)
	}
	return &listError{f.Name, value, want[f.Value.Type()]}
}

// names returns the names of the subcommands of cmd.
func names(cmd *cobra.Command) []string {
	var all []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, c.Name())
		}
	}
	return all
}

// commands returns the makers of the subcommands beside the operations.
func commands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		newScaleCommand, newWhyCommand, newTuneCommand, newDropinCommand, newGPUCheckCommand, newPeakCommand, newMachineCommand, newPlanCommand, newReplayCommand, newFiguresCommand, newMETGCommand, newLoopCommand, newAgentCommand, newSubmitCommand, newStatusCommand, newResultCommand, newCancelCommand, newClusterCommand, newListCommand, newDoctorCommand,
	}
}
