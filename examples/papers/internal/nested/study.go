package nested

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/internal/cli"
)

// Flags returns the flags of the study. They are read once, by its command.
func Flags() *flag.FlagSet { return flags }

// Run runs the study with its flags and prints the results. The error is a *cli.UsageError for invalid flags.
func Run(ctx context.Context) error {
	if min(*trees, *many, *batch, *values, *blocks, *rounds, *turns, *count, *workers) < 1 || *unit < 0 || *samples < folds {
		return cli.Usage(errors.New("want at least 1 of everything, and 5 samples"))
	}
	if known := []string{"forest", "grid"}; *app != "" && !slices.Contains(known, *app) {
		return cli.Usage(&cli.UnknownError{What: "study", Word: *app, Known: known})
	}
	for _, a := range []struct {
		name string
		ways func() ([]study.Way, error)
	}{{"forest", forest}, {"grid", grid}} {
		if *app != "" && *app != a.name {
			continue
		}
		ways, err := a.ways()
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		best, err := study.Compare(ctx, *turns, ways...)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if nested, flat := best[len(best)-1].Tasks, best[0].Tasks; nested >= flat {
			return fmt.Errorf("%s: nested, the driver had %d tasks, flat %d", a.name, nested, flat)
		}
	}
	return nil
}
