// Command 12-nested runs the two applications of Lordan et al. (2023), "Hierarchical management of
// extreme-scale task-based applications", on several nodes, flat and nested: a random forest, and a
// grid search over support vector machines that are trained by cascades.
//
// Flat, all tasks are the driver's. Nested, the driver has a task for a batch of trees, or for a
// machine, and the rest are its children, on the node that gets it: the code is that of one machine.
// So the driver has the less to do the larger batches are. On a tree of nodes, children may also run
// on the node below that one. All ways have the bits of plain loops.
//
// The nodes are in this process and share the machine's cores. So more of them than cores gain
// nothing, and nested is ahead by what the driver is spared. With -unit the tasks that train also
// wait, as if they were longer, on a core of their own: then nodes count.
//
// A cascade waits for each of its rounds. Flat, the program does, as in the paper: one cascade is
// under way at a time. With a goroutine for each, all are, and nested gains little beside that.
//
//	go run ./examples/12-nested
//	go run ./examples/12-nested -unit 2ms -nodes 8
//	go run ./examples/12-nested -app forest -trees 3072 -points 60 -unit 4ms -workers 48
//	go run ./examples/12-nested -app grid -samples 7500 -values 5 -blocks 48 -rounds 5
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/versions"
)

var (
	app     = flag.String("app", "", "forest or grid (default both)")
	count   = flag.Int("nodes", 4, "agents")
	workers = flag.Int("workers", 1, "workers of each agent")
	unit    = flag.Duration("unit", 0, "what a task that trains waits, beside what it computes")
	turns   = flag.Int("turns", 3, "how often each way is gone")

	trees = flag.Int("trees", 192, "forest: trees")
	many  = flag.Int("points", 150, "forest: points to learn from")
	batch = flag.Int("batch", 48, "forest: trees of a batch at least; there are as many batches as agents, if that is so")

	samples = flag.Int("samples", 150, "grid: points, as many as Iris has")
	values  = flag.Int("values", 4, "grid: values of each of the two parameters")
	blocks  = flag.Int("blocks", 8, "grid: blocks of the points of a cascade")
	rounds  = flag.Int("rounds", 5, "grid: rounds of a cascade at most")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	if min(*trees, *many, *batch, *values, *blocks, *rounds, *turns, *count, *workers) < 1 || *unit < 0 || *samples < folds {
		return errors.New("want at least 1 of everything, and 5 samples")
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
