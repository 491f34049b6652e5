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

// Define defines the flags of the study and returns what runs it with their values and prints the results. The
// error is a *cli.UsageError for invalid flags.
func Define(fl *flag.FlagSet) (run func(context.Context) error) {
	var o options
	fl.StringVar(&o.app, "app", "", "domain, records or stream (default all)")
	fl.DurationVar(&o.unit, "unit", 0, "what a task also waits, at least")
	fl.IntVar(&o.turns, "turns", 1, "how often each way is gone; the best time counts")
	fl.BoolVar(&o.local, "local", false, "agents are connected within the process, and not by HTTP")
	fl.IntVar(&o.workers, "workers", 8, "workers of each agent")
	fl.IntVar(&o.generators, "generators", 2, "domain: generators if more nodes are to do the same")
	fl.IntVar(&o.subdomains, "subdomains", 200, "domain: subdomains of each generator")
	fl.IntVar(&o.side, "side", 12, "domain: points along a side of the smallest subdomain")
	fl.IntVar(&o.parts, "parts", 8, "records: tasks for each record")
	fl.IntVar(&o.file, "file", 16, "stream: parts of the file, of which nodes together can keep a few")
	return o.run
}

// run runs the chosen applications, or all.
func (o *options) run(ctx context.Context) error {
	if min(o.turns, o.workers, o.generators, o.subdomains, o.side, o.parts, o.file) < 1 || o.unit < 0 {
		return cli.Usage(errors.New("want at least 1 of everything, and a --unit of at least 0"))
	}
	run := map[string]func(context.Context) error{"domain": o.domains, "records": o.records, "stream": o.stream}
	chosen := slices.Sorted(maps.Keys(run))
	if o.app != "" {
		if run[o.app] == nil {
			return cli.Usage(&cli.UnknownError{What: "study", Word: o.app, Known: chosen})
		}
		chosen = []string{o.app}
	}
	for _, name := range chosen {
		if err := run[name](ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
