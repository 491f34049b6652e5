package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// NamesOf returns the names of typed constants.
func NamesOf[T fmt.Stringer](kinds ...T) []string {
	var all []string
	for _, k := range kinds {
		all = append(all, k.String())
	}
	return all
}

// Complete makes shells offer known as values of a flag.
func Complete(cmd *cobra.Command, flag string, known []string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag does not exist: an error of the caller
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
