package sim

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// arrived notes that a value that a task waits for has arrived, or will not.
func (n *node) arrived(e *execution) {
	if e.missing--; e.missing == 0 {
		n.crew.measure()
		n.crew.meter.waiting--
		n.ready(e)
	}
}

// ready passes a task to the gate, which starts it or makes it wait.
func (n *node) ready(e *execution) {
	t := e.task
	e.task, e.next = nil, n.driver.spare
	n.driver.spare = e
	if e.lacks != nil {
		n.ends = append(n.ends, end{task: t.ID(), lacks: e.lacks})
		n.sendEnds()
		return
	}
	if n.gate.Enter(core.Gated[*graph.Task]{Task: t, Priority: t.Priority, ID: uint64(t.ID()), Width: n.crew.units(t)}) {
		n.crew.one[0] = t
		n.crew.push(n.crew.one[:])
	}
}
