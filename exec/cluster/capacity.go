package cluster

import (
	"maps"
	"slices"

	"github.com/tessera-la/tessera/exec/internal/core"
)

// If nodes have caps on their memory, tasks wait until there is room for their data. Nodes first drop
// copies. If only one node has some data of the program, the driver can fetch them, which it needs at the
// end anyway. That fetch is useless if a task writes the datum meanwhile.
//
//	no task uses a datum any more ─► dropUnused ─► fetchEarly: the driver has it ─► the node may drop it
//	nothing fits, no task in flight ─► squeeze ─► fetchAllEarly, for other jobs, too; or the job fails
//
// fleet.placing guards all of it.

// fetchEarly makes the driver fetch a datum of the program before Wait does, so that the nodes need not keep
// the datum.
func (c *catalog) fetchEarly(e *core.Entry) {
	h := c.homes[e]
	if h == nil || !c.hasAgents || e.Has(0) || e.Lost() {
		return
	}
	if _, ok := c.routeHome(e); !ok { // Wait waits for a route
		return
	}
	number, ref := c.number, e.Ref
	c.earlyFetches++
	from := c.sourcesHome(e)
	c.work.store.fetchBeside(ref, h, from, func(err error) {
		go func() { // the caller may hold placing
			c.placing.Lock()
			defer c.placing.Unlock()
			c.earlyFetches--
			switch {
			case c.number != number: // Wait has ended
			case err != nil: // Wait tries again
				c.noteFailures(e, 0, missingFrom(ref, err).Unreachable, err)
			case e.Ref == ref:
				e.AddHolder(0)
				c.noteHome(from)
				c.emptyRounds = 0
			default: // a task has written it since
				c.work.store.drop(ref)
			}
			c.retryStarving(nil)
		}()
	})
}

// isTight reports whether the first holder of a datum has used more than half of its memory.
func (c *catalog) isTight(e *core.Entry) bool {
	if len(e.Holders) == 0 {
		return false
	}
	m := c.nodes[e.Holders[0]].memory
	return m.Cap > 0 && m.Used > m.Cap/2
}

// memoryError returns the error of a task for which no node has the memory. It names that node with the most
// memory that can execute the task.
func (c *catalog) memoryError(s *core.NodeTable, task string, uses []*core.Entry, can *core.Answer) *core.MemoryError {
	err := &core.MemoryError{Task: task, Need: core.BytesUsed(uses)}
	for i, n := range c.nodes {
		if !s.Absent(i) && can.Nodes[i] && n.memory.Cap > err.Memory {
			err.Node, err.Memory, err.Kept, err.Others = n.name, n.memory.Cap, 0, nil
			if err.Need <= err.Memory {
				err.Kept, err.Others = n.memory.Kept(uses, c.entries)
			}
		}
	}
	return err
}

// maxEmptyRounds bounds the rounds of fetchAllEarly in a row in which no datum came: lost nodes that are not
// known to be lost give nothing.
const maxEmptyRounds = 10

// fetchAllEarly makes the driver fetch all data of the program that are on nodes with a cap, unless such
// fetches are in progress. It leaves out those that tasks on the driver overwrite, whose memory a fetch would
// overwrite in turn. It reports whether any are in progress.
func (c *catalog) fetchAllEarly(written map[*core.Entry]bool) bool {
	if c.earlyFetches == 0 && c.emptyRounds < maxEmptyRounds {
		for e := range c.entries {
			if len(e.Holders) > 0 && c.nodes[e.Holders[0]].memory.Cap > 0 && !written[e] {
				c.fetchEarly(e)
			}
		}
		if c.earlyFetches > 0 {
			c.emptyRounds++
		}
	}
	return c.earlyFetches > 0
}

// retryStarving makes the jobs that wait for memory try again to assign tasks, except the job but, which may
// be nil.
func (f *fleet) retryStarving(but any) {
	for _, waiting := range slices.Collect(maps.Keys(f.starving)) { // a copy, as some wait again
		if place := f.starving[waiting]; waiting != but && place != nil {
			delete(f.starving, waiting)
			place()
		}
	}
}
