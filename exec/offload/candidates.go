package offload

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// patience is how often later tasks, whose operands are on the device already, may start before a
// task.
const patience = 2 * Ahead

// Ahead is the number of tasks that a device takes beyond those in flight, to copy their operands
// meanwhile and to begin with tasks whose operands are there. The more it takes, the fewer remain
// for others. With 16 a Cholesky factorization of 32×32 tiles on a device with room for twelve
// copies 1.19 times the least, with 8 1.28 times (blocked, TestPotrfTraffic).
const Ahead = 16

// Candidates are the tasks that a device has taken and not started, in the order in which it took
// them. They need neither clock nor device: simulated devices use them as well.
type Candidates struct{ waiting []candidate }

// candidate is a task that waits to be started.
type candidate struct {
	task   *graph.Task
	passed int  // number of later tasks that were started before it
	asked  bool // its operands are being prefetched
}

// Add appends a task.
func (c *Candidates) Add(t *graph.Task) { c.waiting = append(c.waiting, candidate{task: t}) }

// Len returns the number of candidates.
func (c *Candidates) Len() int { return len(c.waiting) }

// Next takes the task to start next off the list: the one with the lowest price, in missing bytes,
// the first among equals. A task that later ones have passed too often goes at once. The list must
// not be empty.
func (c *Candidates) Next(price func(*graph.Task) (missing int64)) *graph.Task {
	best, least := 0, int64(-1)
	for i := range c.waiting {
		x := &c.waiting[i]
		if x.passed >= patience {
			best = i
			break
		}
		missing := int64(0)
		if len(c.waiting) > 1 {
			missing = price(x.task)
		}
		if least < 0 || missing < least {
			best, least = i, missing
		}
	}
	t := c.waiting[best].task
	for i := range best {
		c.waiting[i].passed++
	}
	c.waiting = slices.Delete(c.waiting, best, best+1)
	return t
}

// Take takes at most most tasks for which fits is true off the list, and passes each to board.
func (c *Candidates) Take(most int, fits func(*graph.Task) bool, board func(*graph.Task)) {
	for i := 0; i < len(c.waiting) && most > 0; {
		t := c.waiting[i].task
		if !fits(t) {
			i++
			continue
		}
		c.waiting = slices.Delete(c.waiting, i, i+1)
		board(t)
		most--
	}
}

// Ask calls ask for each task whose operands were not asked for, in order, until ask reports false:
// the next Ask begins with that task again.
func (c *Candidates) Ask(ask func(*graph.Task) bool) {
	for i := range c.waiting {
		if x := &c.waiting[i]; !x.asked {
			if !ask(x.task) {
				return
			}
			x.asked = true
		}
	}
}

// Any reports whether f holds for one of the candidates.
func (c *Candidates) Any(f func(*graph.Task) bool) bool {
	return slices.ContainsFunc(c.waiting, func(x candidate) bool { return f(x.task) })
}

// Drain empties the list and returns its tasks.
func (c *Candidates) Drain() (left []*graph.Task) {
	for _, x := range c.waiting {
		left = append(left, x.task)
	}
	clear(c.waiting)
	c.waiting = c.waiting[:0]
	return left
}
