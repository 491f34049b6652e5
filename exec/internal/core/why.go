package core

import (
	"fmt"
	"time"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
)

// This file explains decisions to people. It is pure.

// WhyIdle returns what a node without work waits for, "" if it has tasks or nothing can be said.
func (s *Scheduler) WhyIdle(node int) string {
	if s.Absent(node) {
		return ""
	}
	switch x := &s.Nodes[node]; {
	case s.Paused:
		return "what was lost with a node to be made again"
	case len(x.waiting) > 0:
		return "room in its memory, for " + TaskCount(len(x.waiting))
	case x.Tasks > 0:
		return ""
	case node == 0 && s.driverIdle && !s.DriverAlone():
		return "tasks that no other node can execute"
	case s.queue.Len() == 0:
		return "tasks to become ready"
	default:
		return "tasks for it: the policy has " + TaskCount(s.queue.Len()) + " for others"
	}
}

// TaskCount returns "1 task" or "n tasks".
func TaskCount(n int) string {
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}

// WhyChosen returns why a task goes to a node. The caller is about to assign it. Bound says that
// only the driver can execute it.
func (s *Scheduler) WhyChosen(t *graph.Task, node int, bound bool) string {
	switch {
	case bound || s.Fit.Ask(t).DriverOnly:
		return "no other node can execute it"
	case s.DriverAlone():
		return "there is no other node"
	case s.byOwner:
		switch d := s.owners.ownedDatum(t); {
		case s.owners.node(t) != node:
			return "it had nothing to do, and the owner has much"
		case d == nil:
			return "it is its turn"
		case s.owners.nodes[int(d.Owner)%len(s.owners.nodes)] == node:
			return "it owns " + d.String()
		default:
			return "the owner of " + d.String() + " is lost, or cannot execute it"
		}
	}
	var bytes, all int64
	for k := range t.Len() {
		o := t.Operand(k)
		if o.Mode&graph.In == 0 {
			continue
		}
		all += o.Datum.Bytes
		if s.data.Of(o.Datum).Has(node) {
			bytes += o.Datum.Bytes
		}
	}
	text := "policy " + s.policyName
	can, there := 0, 0
	for i, yes := range s.Fit.Ask(t).Nodes {
		if s.Fit.offers[i] != nil {
			there++
		}
		if yes {
			can++
		}
	}
	if can < there {
		text += fmt.Sprintf(", among %d of %d nodes, which can execute it", can, there)
	}
	if all > 0 {
		text += fmt.Sprintf("; it has %d of the %d bytes that the task reads", bytes, all)
	}
	if run := s.Learned.runTime(node, t); run > 0 && s.policyName == dispatch.EarliestFinish.String() {
		seconds := func(x float64) time.Duration { return time.Duration(x * 1e9).Round(time.Microsecond) }
		text += fmt.Sprintf(", and is expected to take %v, and %v to get the rest",
			seconds(run), seconds(costs{s}.Move(t, node)))
	}
	return text
}

// Counts returns the number of ready tasks that no node has yet, and of tasks in flight.
func (s *Scheduler) Counts() (ready, given int) {
	ready = s.queue.Len()
	for i := range s.Nodes {
		ready += len(s.Nodes[i].waiting)
	}
	return ready, s.InFlight.N
}
