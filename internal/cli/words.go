package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NamesOf returns the names of typed constants.
func NamesOf[T fmt.Stringer](kinds ...T) []string {
	var all []string
	for _, k := range kinds {
		all = append(all, k.String())
	}
	return all
}

// completions is the annotation of a flag that lists the words that shells offer.
const completions = "tessera_completions"

// Complete makes shells offer known as values of a flag.
func Complete(cmd *cobra.Command, flag string, known []string) {
	if err := cmd.Flags().SetAnnotation(flag, completions, known); err != nil {
		panic(err) // the flag does not exist: an error of the caller
	}
}

// offer tells cobra what shells offer for the flags of a command and its subcommands. Cobra keeps these flags, and what
// they set, until the process ends, so only a process that a shell asks does it.
func offer(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if known, ok := f.Annotations[completions]; ok {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, sub := range cmd.Commands() {
		offer(sub)
	}
}

// Words lists the names of typed constants in words.
func Words[T fmt.Stringer](kinds []T) string {
	return strings.Join(NamesOf(kinds...), ", ")
}

// Dashed returns names of flags as a user types them: -n, --nb.
func Dashed(names ...string) string {
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
