package cluster

import (
	"fmt"
	"time"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
)

// Why the scheduler does what it does, in words. All here is pure.

// idles returns why a node with a free worker is given nothing; "" if it has tasks, or there
// is nothing to be said.
func (s *scheduler) idles(node int) string {
	if s.absent(node) {
		return ""
	}
	switch x := &s.seats[node]; {
	case s.halted:
		return "what was lost with a node to be made again"
	case len(x.waiting) > 0:
		return "room in its memory, for " + tasks(len(x.waiting))
	case x.has > 0:
		return ""
	case node == 0 && s.idle && !s.alone():
		return "tasks that no other node can execute"
	case s.queue.Len() == 0:
		return "tasks to become ready"
	default:
		return "tasks for it: the policy has " + tasks(s.queue.Len()) + " for others"
	}
}

// tasks is a number of tasks, to people.
func tasks(n int) string {
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}

// chose returns why a task that it is about to be given goes to a node. Bound says that the
// driver only can execute it.
func (s *scheduler) chose(t *graph.Task, node int, bound bool) string {
	switch {
	case bound || s.fit.ask(t).last:
		return "no other node can execute it"
	case s.alone():
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
		if s.data.of(o.Datum).has(node) {
			bytes += o.Datum.Bytes
		}
	}
	text := "policy " + s.named
	can, there := 0, 0
	for i, yes := range s.fit.ask(t).nodes {
		if s.fit.offers[i] != nil {
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
	if run := s.learned.run(node, t); run > 0 && s.named == dispatch.EarliestFinish.String() {
		seconds := func(x float64) time.Duration { return time.Duration(x * 1e9).Round(time.Microsecond) }
		text += fmt.Sprintf(", and is expected to take %v, and %v to get the rest", seconds(run), seconds(costs{s}.Move(t, node)))
	}
	return text
}

// held returns how many tasks are ready and were given to nobody yet, and how many were given.
func (s *scheduler) held() (ready, given int) {
	ready = s.queue.Len()
	for i := range s.seats {
		ready += len(s.seats[i].waiting)
	}
	return ready, s.flying.n
}
