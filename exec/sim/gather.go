package sim

import (
	"errors"
	"slices"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// As in package exec a task whose constraints ask for several units waits until so many workers of a socket have
// nothing to do. They share its work evenly, on the threads of all of them. What the constraints of a version ask for,
// one simulated worker has.

// wideOf returns a list of tasks that wait for workers of one of the sockets.
func (c *crew) wideOf(sockets int) dispatch.Wide {
	sizes := make([]int, sockets)
	for w := range c.kind.Tasks() {
		sizes[c.workers[w].socket]++
	}
	return dispatch.NewWide(sizes, make([]int, sockets))
}

// units returns how many workers a task takes.
func (c *crew) units(t *graph.Task) int {
	asks, _ := t.Constraints().(*versions.Constraints)
	if asks == nil || asks.Units <= 1 {
		return 1
	}
	return min(asks.Units, c.wide.Most(0))
}

// idleAt returns the number of workers of a socket that sleep.
func (c *crew) idleAt(socket int) (n int) {
	for _, w := range c.asleep {
		if c.workers[w].socket == socket {
			n++
		}
	}
	return n
}

// gather returns w and n−1 workers of its socket, which sleep and are taken off the list.
func (c *crew) gather(w, n int) []int {
	all := []int{w}
	c.asleep = slices.DeleteFunc(c.asleep, func(other int) bool {
		if len(all) == n || c.workers[other].socket != c.workers[w].socket {
			return false
		}
		all = append(all, other)
		return true
	})
	return all
}

// unmet returns why no worker meets the constraints of a task, nil if one does.
func (c *crew) unmet(s *graph.Spec) error {
	asks, _ := s.Constraints.(*versions.Constraints)
	if asks == nil {
		return nil
	}
	op, _ := s.Op.(*versions.Op)
	all := []error{asks.Admit(op, c.speeds.target)}
	for i := range c.kind.Devices {
		all = append(all, asks.Admit(op, c.kind.Devices[i].target()))
	}
	if slices.Contains(all, nil) {
		return nil
	}
	return errors.Join(all...)
}
