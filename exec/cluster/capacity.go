package cluster

import (
	"maps"
	"slices"

	"github.com/tessera-la/tessera/exec/internal/core"
)

// Where nodes have caps on their memory, tasks wait until there is room for what they use. Copies
// are dropped first. What only a node has can go to the driver if it is the program's, which gets it
// in the end anyway. If a task makes another version meanwhile, what comes is in vain:
//
//	no task uses it any more ─► spare ─► early: the driver has it, too ─► the node need not keep it
//	nothing fits, nothing is under way ─► squeeze ─► early, for all that there is, of other jobs, too;
//	                                                 or the job ends
//
// fleet.placing guards all of it.

// fetchEarly has the driver fetch what the program is to have in the end, while others still compute.
// After that the nodes need not keep it.
func (c *catalog) fetchEarly(e *core.Entry) {
	h := c.homes[e]
	if h == nil || !c.hasAgents || e.Has(0) || e.Lost() {
		return
	}
	if _, ok := c.routeHome(e); !ok { // Wait waits for one
		return
	}
	number, ref := c.number, e.Ref
	c.earlyFetches++
	from := c.sourcesHome(e)
	c.work.store.fetchBeside(ref, h, from, func(err error) {
		go func() { // who calls may hold placing
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

// isTight reports whether a datum is on a node that has used more than half of its memory.
func (c *catalog) isTight(e *core.Entry) bool {
	if len(e.Holders) == 0 {
		return false
	}
	m := c.nodes[e.Holders[0]].memory
	return m.Cap > 0 && m.Used > m.Cap/2
}

// memoryError returns the error of a task for which no node has the memory. Of the nodes that are there
// and can execute it, it names that with the most.
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

// fetchAllEarly has the driver fetch all that the program is to have and that is under a cap, unless it is
// about to, and reports whether something comes.
func (c *catalog) fetchAllEarly() bool {
	if c.earlyFetches == 0 && c.emptyRounds < 10 { // nodes that are about to be lost may give nothing
		for e := range c.entries {
			if len(e.Holders) > 0 && c.nodes[e.Holders[0]].memory.Cap > 0 {
				c.fetchEarly(e)
			}
		}
		if c.earlyFetches > 0 {
			c.emptyRounds++
		}
	}
	return c.earlyFetches > 0
}

// retryStarving has jobs try again to give tasks that wait for memory, as some may be free now: all but one,
// or all if that is nil.
func (f *fleet) retryStarving(but any) {
	for _, q := range slices.Collect(maps.Keys(f.starving)) { // some may wait again
		if place := f.starving[q]; q != but && place != nil {
			delete(f.starving, q)
			place()
		}
	}
}
