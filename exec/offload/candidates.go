package offload

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// patience is how often a task may see others go first whose operands were there
// already.
const patience = 2 * ahead

// ahead is how many tasks a worker takes beyond those in flight, to bring their
// operands in meanwhile and to begin with those that are there. The more it takes the
// fewer remain for others. On a device with room for twelve tiles, of a Cholesky
// factorization of 32×32 under eft, what was copied was 1.19 times the least with 16,
// and 1.28 with 8 (blocked, TestPotrfTraffic).
const ahead = 16

// candidate is a task that waits to be started.
type candidate struct {
	task   *graph.Task
	passed int  // how many that came after it were started before it
	asked  bool // its operands were asked for
}

// candidates are the tasks that a worker has taken and not started, in the order in
// which it took them.
type candidates struct {
	ready  []candidate
	values []any // of one of them, for Prefetch
}

// add appends a task.
func (c *candidates) add(t *graph.Task) { c.ready = append(c.ready, candidate{task: t}) }

// next takes the task to start next off the list: the one for which the fewest
// bytes are missing on the device, the first taken among equals.
func (c *candidates) next(on *Device) *graph.Task {
	best, least := 0, int64(-1)
	for i := range c.ready {
		x := &c.ready[i]
		if x.passed >= patience {
			best = i
			break
		}
		missing := int64(0)
		if len(c.ready) > 1 {
			missing = on.price(x.task)
		}
		if least < 0 || missing < least {
			best, least = i, missing
		}
	}
	t := c.ready[best].task
	for i := range best {
		c.ready[i].passed++
	}
	c.ready = slices.Delete(c.ready, best, best+1)
	return t
}

// take takes off the list the tasks that fit, so many at most, and has each boarded.
func (c *candidates) take(most int, fits func(*graph.Task) bool, board func(*graph.Task)) {
	for i := 0; i < len(c.ready) && most > 0; {
		t := c.ready[i].task
		if !fits(t) {
			i++
			continue
		}
		c.ready = slices.Delete(c.ready, i, i+1)
		board(t)
		most--
	}
}

// prefetch asks for the operands of each task, once. What another device has has to
// come by way of the host first, when the task starts.
func (c *candidates) prefetch(on *Device, all Devices, uses func(*graph.Task) (job uint64)) {
	for k := range c.ready {
		x := &c.ready[k]
		if x.asked {
			continue
		}
		x.asked = true
		c.values = c.values[:0]
		for i := range x.task.Len() {
			if o := x.task.Operand(i); o.Mode&graph.In != 0 && !all.Away(o.Datum.Value, on) {
				c.values = append(c.values, o.Datum.Value)
			}
		}
		on.Prefetch(c.values, uses(x.task))
	}
	clear(c.values[:cap(c.values)])
}

// leave empties the list and returns what was on it.
func (c *candidates) leave() (left []*graph.Task) {
	for _, x := range c.ready {
		left = append(left, x.task)
	}
	clear(c.ready)
	c.ready = c.ready[:0]
	return left
}
