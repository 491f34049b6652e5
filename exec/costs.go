package exec

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// costs tells the policy EarliestFinish what the selector knows.
type costs struct {
	rt   *Local
	call versions.Call
}

// Run implements sched.Costs. An op whose Work panics costs nothing; the panic
// comes again, and is the task's failure, when it is to run.
func (c *costs) Run(t *graph.Task, worker int) (seconds float64) {
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return 0
	}
	defer func() {
		if recover() != nil {
			seconds = 0
		}
	}()
	c.call.Params, c.call.Args = t.Params, c.call.Args[:0]
	for i := range t.Len() {
		c.call.Args = append(c.call.Args, t.Operand(i).Datum.Value)
	}
	seconds = c.rt.selector.Expect(op, &c.call, c.rt.workers[worker].info.Target)
	clear(c.call.Args) // keeps no data alive
	c.call.Params = nil
	return seconds
}

// remoteBytes is what a second brings from the memory of another NUMA node, in
// bytes: a cautious guess that keeps tasks where their data are when all else is
// equal. Nothing here was measured.
const remoteBytes = 10e9

// Move implements sched.Costs.
func (c *costs) Move(bytes int64, from, to int) float64 {
	w := c.rt.workers
	if from >= len(w) || w[from].info.Node == w[to].info.Node {
		return 0
	}
	return float64(bytes) / remoteBytes
}
