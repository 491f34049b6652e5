package cluster

import "fmt"

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
		return fmt.Sprintf("room in its memory, for %d tasks", len(x.waiting))
	case x.has > 0:
		return ""
	case node == 0 && s.idle && !s.alone():
		return "tasks that no other node can execute"
	case s.queue.Len() == 0:
		return "tasks to become ready"
	default:
		return fmt.Sprintf("tasks that others do not execute: the policy has %d for them", s.queue.Len())
	}
}

// held returns how many tasks are ready and were given to nobody yet, and how many were given.
func (s *scheduler) held() (ready, given int) {
	ready = s.queue.Len()
	for i := range s.seats {
		ready += len(s.seats[i].waiting)
	}
	return ready, len(s.flying)
}
