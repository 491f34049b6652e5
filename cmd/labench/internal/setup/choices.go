package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/la"
)

// choice is a flag of some operations that takes one of several words.
type choice struct {
	flag  string
	known []string // the first is the default
	usage string
	set   func(s *bench.Problem, word string) error
}

// choices returns the choices that operations may list in their Flags.
func choices() []choice {
	return []choice{
		{"pivot", cli.NamesOf(la.PartialPivoting, la.TournamentPivoting, la.TilePivoting), "where pivots are looked for",
			func(s *bench.Problem, w string) error { return s.Pivot.Set(w) }},
		{"on-breakdown", cli.NamesOf(la.ReturnError, la.FallBack), "what follows when tile pivoting breaks down",
			func(s *bench.Problem, w string) error { return s.OnBreakdown.Set(w) }},
		{"tree", cli.NamesOf(qr.Trees()...), "order in which the tiles of a column are annihilated",
			func(s *bench.Problem, w string) (err error) { s.Tree, err = qr.ParseTree(w); return err }},
		{"method", cli.NamesOf(bench.Methods()...), "how to solve",
			func(s *bench.Problem, w string) (err error) { s.Method, err = bench.ParseMethod(w); return err }},
		{"reduction", cli.NamesOf(la.FasterReduction, la.OneStage, la.TwoStages), "in how many stages the matrix is reduced",
			func(s *bench.Problem, w string) error { return s.Reduction.Set(w) }},
	}
}

// RegisterChoices defines the choice flags that at least one of the operations has. It returns where their
// words are stored.
func RegisterChoices(cmd *cobra.Command, ops ...bench.Operation) map[string]*string {
	given := map[string]*string{}
	for _, c := range choices() {
		if !slices.ContainsFunc(ops, func(op bench.Operation) bool { return op.Takes(c.flag) }) {
			continue
		}
		given[c.flag] = cmd.Flags().String(c.flag, c.known[0], c.usage+": "+strings.Join(c.known, ", "))
		cli.Complete(cmd, c.flag, c.known)
	}
	return given
}

// ApplyChoices stores the words in s. It returns errors for unknown words, and for flags that its operation
// does not have.
func ApplyChoices(s *bench.Problem, given map[string]*string) (errs []error) {
	for _, c := range choices() {
		if w := given[c.flag]; w != nil {
			known := slices.ContainsFunc(bench.Operations(), func(op bench.Operation) bool { return op.Name == s.Op && op.Takes(c.flag) })
			if !known && *w != c.known[0] {
				errs = append(errs, fmt.Errorf("--%s is nothing that %s has", c.flag, s.Op))
			}
			if !known {
				continue
			}
			if err := c.set(s, *w); err != nil {
				errs = append(errs, &cli.ListError{Flag: c.flag, Element: *w, Allowed: strings.Join(c.known, ", ")})
			}
		}
	}
	return errs
}
