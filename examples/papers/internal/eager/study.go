package eager

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"

	"github.com/tessera-la/tessera/internal/cli"
)

// Flags returns the flags of the study. They are read once, by its command.
func Flags() *flag.FlagSet { return flags }

// Run runs the study with its flags and prints the results. The error is a *cli.UsageError for invalid flags.
func Run(ctx context.Context) error {
	if min(*turns, *workers, *generators, *subdomains, *side, *parts, *file) < 1 || *unit < 0 {
		return cli.Usage(errors.New("want at least 1 of everything, and a --unit of at least 0"))
	}
	run := map[string]func(context.Context) error{"domain": domains, "records": records, "stream": stream}
	chosen := slices.Sorted(maps.Keys(run))
	if *app != "" {
		if run[*app] == nil {
			return cli.Usage(&cli.UnknownError{What: "study", Word: *app, Known: chosen})
		}
		chosen = []string{*app}
	}
	for _, name := range chosen {
		if err := run[name](ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
