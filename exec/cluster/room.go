package cluster

import (
	"maps"
	"slices"
)

// Where nodes have caps on their memory, tasks wait until there is room for what they use. Copies
// are dropped first. What only a node has can go to the driver if it is the program's, which gets it
// in the end anyway. A task that writes it meanwhile waits until the driver has it:
//
//	no task uses it any more ─► spare ─► early: the driver has it, too ─► the node need not keep it
//	nothing fits, nothing is under way ─► squeeze ─► early, for all that there is; or the job ends
//
// fleet.placing guards all of it.

// squeeze sees to it that something happens when all tasks that could be given wait for
// memory, and none is under way: one goes to whoever has room, or the driver gets what the program
// is to have, or the job ends. It reports whether there may be more to give.
func (p *placement) squeeze() bool {
	t, i := p.sched.squeeze()
	if t == nil {
		return false
	}
	if i >= 0 {
		p.give(t, i)
		return true
	}
	for k, n := range p.nodes {
		if !p.sched.absent(k) && n.memory.pinned() {
			p.starved[p] = p.place
			return false
		}
	}
	if p.coming == 0 {
		for e := range p.entries {
			if len(e.holders) > 0 && p.nodes[e.holders[0]].memory.most > 0 {
				p.early(e)
			}
		}
	}
	if p.coming > 0 {
		p.starved[p] = p.place
		return false
	}
	p.outcome.Abort(p.scarce(&p.sched.seating, t.Op.OpName(), uses(t, p.data), p.sched.fit.ask(t)))
	return true // all are cancelled
}

// relieved has other jobs try again to give tasks that wait for memory: some may be free now.
// The caller holds mu.
func (p *placement) relieved() {
	for q, place := range p.starved {
		if q != p {
			delete(p.starved, q)
			place()
		}
	}
}

// spare has copies of a datum dropped if no task will read it any more. The driver gets it then if
// it has nothing else to do, and also before that if it leaves little room where it is.
func (p *placement) spare(e *entry) {
	if e.users > 0 || p.again {
		return
	}
	if p.sealed {
		p.sched.shed(e)
	}
	if (p.sealed && p.opt.Idle || p.tight(e)) && p.outcome.Why() == nil {
		p.early(e)
	}
}

// early has the driver fetch what the program is to have in the end, while others still compute.
// After that the nodes need not keep it.
func (c *catalog) early(e *entry) {
	h := c.homes[e]
	if h == nil || !c.fixed || e.has(0) || e.lost() {
		return
	}
	number, ref := c.number, e.ref
	c.coming++
	c.work.store.take(ref, h, c.holders(e), func(err error) {
		go func() { // who calls may hold placing
			c.placing.Lock()
			defer c.placing.Unlock()
			c.coming--
			switch {
			case err != nil || c.number != number: // Wait tries again, or has ended
			case e.ref == ref:
				e.read(0)
			default: // a task has written it since
				c.work.store.drop(ref)
			}
			waiting := slices.Collect(maps.Values(c.starved))
			clear(c.starved)
			for _, place := range waiting { // there may be room now
				place()
			}
		}()
	})
}

// tight reports whether a datum is on a node that has used more than half of its memory.
func (c *catalog) tight(e *entry) bool {
	if len(e.holders) == 0 {
		return false
	}
	m := c.nodes[e.holders[0]].memory
	return m.most > 0 && m.used > m.most/2
}

// scarce returns the error of a task for which no node has the memory. Of the nodes that are there
// and can execute it, it names that with the most.
func (c *catalog) scarce(s *seating, task string, uses []*entry, can *answer) *MemoryError {
	err := &MemoryError{Task: task, Need: bytesUsed(uses)}
	for i, n := range c.nodes {
		if !s.absent(i) && can.nodes[i] && n.memory.most > err.Memory {
			err.Node, err.Memory, err.Kept = n.name, n.memory.most, 0
			if err.Need <= err.Memory {
				err.Kept = n.memory.kept(i, uses)
			}
		}
	}
	return err
}
