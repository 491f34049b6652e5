package nested

import (
	"flag"
	"fmt"

	"github.com/tessera-la/tessera/examples/internal/study"
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

// nodes returns the nodes of the study with the given ops. In a tree the second half are children of the first
// half.
func nodes(tree bool, ops ...*versions.Op) study.Nodes {
	n := study.Nodes{Parents: make([]string, *count), Workers: *workers, Ops: ops}
	if tree {
		for i := (*count + 1) / 2; i < *count; i++ {
			n.Parents[i] = fmt.Sprintf("agent%d", i-(*count+1)/2)
		}
	}
	return n
}
