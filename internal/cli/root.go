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

// Misspelt returns an error if the command line names an unknown command, and the command that would contain
// it. Cobra itself would report the flags of the unknown command.
func Misspelt(root *cobra.Command, args []string) (*cobra.Command, error) {
	for cmd := root; len(args) > 0 && !strings.HasPrefix(args[0], "-") && len(cmd.Commands()) > 0; args = args[1:] {
		word := args[0]
		switch {
		case cmd == root && word == "help":
			continue // the next command may have the flag
		case cmd == root && (word == "completion" || strings.HasPrefix(word, "__complete")):
			offer(root)
			return root, nil // cobra's
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
