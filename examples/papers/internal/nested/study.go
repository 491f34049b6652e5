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

// Define defines the flags of the study and returns what runs it with their values and prints the results. The
// error is a *cli.UsageError for invalid flags.
func Define(fl *flag.FlagSet) (run func(context.Context) error) {
	var o options
	fl.StringVar(&o.app, "app", "", "forest or grid (default both)")
	fl.IntVar(&o.agents, "nodes", 4, "agents")
	fl.IntVar(&o.workers, "workers", 1, "workers of each agent")
	fl.DurationVar(&o.unit, "unit", 0, "what a task that trains waits, beside what it computes")
	fl.IntVar(&o.turns, "turns", 3, "how often each way is gone")
	fl.IntVar(&o.trees, "trees", 192, "forest: trees")
	fl.IntVar(&o.points, "points", 150, "forest: points to learn from")
	fl.IntVar(&o.batch, "batch", 48, "forest: trees of a batch at least; there are as many batches as agents, if that is so")
	fl.IntVar(&o.samples, "samples", 150, "grid: points, as many as Iris has")
	fl.IntVar(&o.values, "values", 4, "grid: values of each of the two parameters")
	fl.IntVar(&o.blocks, "blocks", 8, "grid: blocks of the points of a cascade")
	fl.IntVar(&o.rounds, "rounds", 5, "grid: rounds of a cascade at most")
	return o.run
}

// run runs the chosen application, or both.
func (o *options) run(ctx context.Context) error {
	if min(o.trees, o.points, o.batch, o.values, o.blocks, o.rounds, o.turns, o.agents, o.workers) < 1 || o.unit < 0 || o.samples < folds {
		return cli.Usage(errors.New("want at least 1 of everything, and 5 samples"))
	}
	if known := []string{"forest", "grid"}; o.app != "" && !slices.Contains(known, o.app) {
		return cli.Usage(&cli.UnknownError{What: "study", Word: o.app, Known: known})
	}
	for _, a := range []struct {
		name string
		ways func() ([]study.Way, error)
	}{{"forest", o.forest}, {"grid", o.grid}} {
		if o.app != "" && o.app != a.name {
			continue
		}
		ways, err := a.ways()
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		best, err := study.Compare(ctx, o.turns, ways...)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if nested, flat := best[len(best)-1].Tasks, best[0].Tasks; nested >= flat {
			return fmt.Errorf("%s: nested, the driver had %d tasks, flat %d", a.name, nested, flat)
		}
	}
	return nil
}
