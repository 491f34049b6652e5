package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagError restates an error that pflag found in the flags of a command in plain words.
func FlagError(cmd *cobra.Command, err error) error {
	if bad := (*pflag.InvalidValueError)(nil); errors.As(err, &bad) {
		if f := bad.GetFlag(); f.Shorthand != "" && cmd.Flags().Lookup(f.Shorthand+bad.GetValue()) != nil {
			return fmt.Errorf("unknown flag -%s%s. Did you mean %s?", f.Shorthand, bad.GetValue(), Dashed(f.Shorthand+bad.GetValue()))
		}
		return NotAllowed(bad.GetFlag(), bad.GetValue(), bad.Unwrap())
	}
	if none := (*pflag.ValueRequiredError)(nil); errors.As(err, &none) {
		return fmt.Errorf("%s wants a value", Dashed(none.GetFlag().Name))
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
			return fmt.Errorf("unknown flag -%s. Did you mean %s?", whole, Dashed(whole))
		}
		if k := synonym(name); slices.Contains(known, k) {
			return fmt.Errorf("unknown flag %s. Did you mean %s?", Dashed(name), Dashed(k))
		}
		if k := nearest(name, known); k != "" {
			return fmt.Errorf("unknown flag %s. Did you mean %s?", Dashed(name), Dashed(k))
		}
		return fmt.Errorf("unknown flag %s; %s knows %s", Dashed(name), cmd.CommandPath(), Dashed(known...))
	}
	return err
}

// synonyms are the flags of this program that a user may mean by words of other programs, or of other commands of
// this one.
var synonyms = map[string]string{
	"sched":    "policy policies scheduler",
	"n":        "size sizes order orders dim",
	"workers":  "threads cores jobs procs j",
	"nb":       "tile tiles tile-size block blocksize block-size b",
	"type":     "dtype precision",
	"devices":  "gpu gpus device",
	"input":    "file",
	"repeat":   "runs iterations reps repeats",
	"versions": "version",
	"verify":   "check",
	"cluster":  "nodes agents peers",
	"output":   "out o",
}

// synonym returns the flag that a user may mean by name, or "".
func synonym(name string) string {
	for flag, words := range synonyms {
		if slices.Contains(strings.Fields(words), name) {
			return flag
		}
	}
	return ""
}

// NotAllowed says in plain words which values a flag takes.
func NotAllowed(f *pflag.Flag, value string, why error) error {
	want := map[string]string{"int": "a whole number, at most 2147483647", "uint64": "a whole number from 0 to 18446744073709551615",
		"duration": "a time, as in 90s, 5m or 30ms", "bool": "true or false", "float64": "a number", "size": "a number of bytes, as in 1.5GiB or 800MiB", "share": "a number from 0 to 1, as in 0.05"}
	if want[f.Value.Type()] == "" && why != nil {
		return fmt.Errorf("%s: %w", Dashed(f.Name), why)
	}
	return &ListError{f.Name, value, want[f.Value.Type()]}
}

// CommandNames returns the names of the subcommands of cmd.
func CommandNames(cmd *cobra.Command) []string {
	var all []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, c.Name())
		}
	}
	return all
}
