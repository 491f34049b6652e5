package core

import (
	"fmt"
	"time"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
)

// Why the scheduler does what it does, in words. All here is pure.

// Idles returns why a node with a free worker is given nothing; "" if it has tasks, or there
// is nothing to be said.
func (s *Scheduler) Idles(node int) string {
	if s.Absent(node) {
		return ""
	}
	switch x := &s.Seats[node]; {
	case s.Paused:
		return "what was lost with a node to be made again"
	case len(x.waiting) > 0:
		return "room in its memory, for " + Tasks(len(x.waiting))
	case x.Has > 0:
		return ""
	case node == 0 && s.idle && !s.Alone():
		return "tasks that no other node can execute"
	case s.queue.Len() == 0:
		return "tasks to become ready"
	default:
		return "tasks for it: the policy has " + Tasks(s.queue.Len()) + " for others"
	}
}

// Tasks is a number of tasks, to people.
func Tasks(n int) string {
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}

// Chose returns why a task that it is about to be given goes to a node. Bound says that the
// driver only can execute it.
func (s *Scheduler) Chose(t *graph.Task, node int, bound bool) string {
	switch {
	case bound || s.Fit.Ask(t).Last:
		return "no other node can execute it"
	case s.Alone():
		return "there is no other node"
	case s.owned:
		switch d := s.owners.by(t); {
		case s.owners.of(t) != node:
			return "it had nothing to do, and the owner has much"
		case d == nil:
			return "it is its turn"
		case s.owners.slots[int(d.Owner)%len(s.owners.slots)] == node:
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
	text := "policy " + s.named
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
	if run := s.Learned.run(node, t); run > 0 && s.named == dispatch.EarliestFinish.String() {
		seconds := func(x float64) time.Duration { return time.Duration(x * 1e9).Round(time.Microsecond) }
		text += fmt.Sprintf(", and is expected to take %v, and %v to get the rest", seconds(run), seconds(costs{s}.Move(t, node)))
	}
	return text
}

// Held returns how many tasks are ready and were given to nobody yet, and how many were given.
func (s *Scheduler) Held() (ready, given int) {
	ready = s.queue.Len()
	for i := range s.Seats {
		ready += len(s.Seats[i].waiting)
	}
	return ready, s.Flying.N
}
