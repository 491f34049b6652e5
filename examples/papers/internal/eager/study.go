package eager

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/internal/cli"
)

// Flags returns the flags of the study. They are read once, by its command.
func Flags() *flag.FlagSet { return flags }

// Run runs the study with its flags and prints the results. The error is a *cli.UsageError for invalid flags.
func Run(ctx context.Context) error {
	if min(*turns, *workers, *generators, *subdomains, *side, *parts, *file) < 1 || *unit < 0 {
		return cli.Usage(errors.New("want at least 1 of everything"))
	}
	if known := []string{"domain", "records", "stream"}; *app != "" && !slices.Contains(known, *app) {
		return cli.Usage(&cli.UnknownError{What: "study", Word: *app, Known: known})
	}
	for _, a := range []struct {
		name string
		run  func(context.Context) error
	}{{"domain", domains}, {"records", records}, {"stream", stream}} {
		if *app == "" || *app == a.name {
			if err := a.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
		}
	}
	return nil
}
