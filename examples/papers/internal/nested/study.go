package nested

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/versions"
)

var (
	flags = flag.NewFlagSet("nested", flag.ContinueOnError)

	app     = flags.String("app", "", "forest or grid (default both)")
	count   = flags.Int("nodes", 4, "agents")
	workers = flags.Int("workers", 1, "workers of each agent")
	unit    = flags.Duration("unit", 0, "what a task that trains waits, beside what it computes")
	turns   = flags.Int("turns", 3, "how often each way is gone")

	trees = flags.Int("trees", 192, "forest: trees")
	many  = flags.Int("points", 150, "forest: points to learn from")
	batch = flags.Int("batch", 48, "forest: trees of a batch at least; there are as many batches as agents, if that is so")

	samples = flags.Int("samples", 150, "grid: points, as many as Iris has")
	values  = flags.Int("values", 4, "grid: values of each of the two parameters")
	blocks  = flags.Int("blocks", 8, "grid: blocks of the points of a cascade")
	rounds  = flags.Int("rounds", 5, "grid: rounds of a cascade at most")
)

// Flags returns the flags of the study. They are read once, by its command.
func Flags() *flag.FlagSet { return flags }

// Run runs the study as its flags say, and prints what it finds. The error is a *cli.UsageError
// for flags that make no sense.
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

// nodes returns the nodes. In a tree the second half is below the first one.
func nodes(tree bool) study.Nodes {
	n := study.Nodes{Parents: make([]string, *count), Workers: *workers, Ops: []*versions.Op{picks, trains, batches, fits, joins, tests, searches}}
	if tree {
		for i := (*count + 1) / 2; i < *count; i++ {
			n.Parents[i] = fmt.Sprintf("agent%d", i-(*count+1)/2)
		}
	}
	return n
}
