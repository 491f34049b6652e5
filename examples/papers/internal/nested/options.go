package nested

import (
	"fmt"
	"time"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/versions"
)

// options are the values of the flags.
type options struct {
	app                             string
	agents, workers                 int
	unit                            time.Duration
	turns                           int
	trees, points, batch            int // of the forest
	samples, values, blocks, rounds int // of the grid
}

// nodes returns the nodes of the study with the given ops. In a tree the second half are children of the first
// half.
func (o *options) nodes(tree bool, ops ...*versions.Op) study.Nodes {
	n := study.Nodes{Parents: make([]string, o.agents), Workers: o.workers, Ops: ops}
	if tree {
		for i := (o.agents + 1) / 2; i < o.agents; i++ {
			n.Parents[i] = fmt.Sprintf("agent%d", i-(o.agents+1)/2)
		}
	}
	return n
}
