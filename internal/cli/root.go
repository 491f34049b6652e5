package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/internal/report"
)

// Prepare makes the command of a program report wrong flags as a *UsageError, and wraps the help of its flags
// to 80 columns.
func Prepare(root *cobra.Command) {
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", report.Columns)))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return Usage(FlagError(cmd, err)) })
}

// SeeHelp says where the flags and arguments of a command are explained.
func SeeHelp(cmd *cobra.Command) string { return "See " + cmd.CommandPath() + " --help." }

// Misspelt looks for an unknown command in the command line args. If there is one, it returns the command that would
// contain it, and the error; otherwise root and nil. Cobra itself would report the flags of the unknown command.
func Misspelt(root *cobra.Command, args []string) (*cobra.Command, error) {
	for cmd := root; len(args) > 0 && !strings.HasPrefix(args[0], "-") && len(cmd.Commands()) > 0; args = args[1:] {
		word := args[0]
		switch {
		case cmd == root && word == "help":
			continue // the words after it name a command
		case cmd == root && (word == "completion" || strings.HasPrefix(word, "__complete")):
			offer(root)
			return root, nil // cobra adds these commands when it executes root
		}
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
		if i < 0 {
			what := "command"
			if cmd.Name() == "explain" {
				what = "operation"
			}
			return cmd, Usage(&UnknownError{What: what, Word: word, Known: CommandNames(cmd)})
		}
		cmd = cmd.Commands()[i]
	}
	return root, nil
}
