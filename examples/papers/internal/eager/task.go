package eager

import (
	"time"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// nodes returns so many agents.
func nodes(agents int, ops ...*versions.Op) study.Nodes {
	return study.Nodes{Parents: make([]string, agents), Workers: *workers, HTTP: !*local, Ops: ops}
}

// Task is of the parameter of all tasks.
type Task struct {
	Eager bool  // it says when it has finished with an output
	Unit  int64 // what it waits, at least, in nanoseconds
}

// task returns it as the flags have it.
func task(eager bool) Task { return Task{eager, int64(*unit)} }

// finished says that a task has finished with operand i, if it is to say so.
func (t *Task) finished(c *versions.Call, i int) {
	if t.Eager {
		c.Finished(i)
	}
}

// wait waits so many units.
func (t *Task) wait(units float64) { time.Sleep(time.Duration(units * float64(t.Unit))) }

// until waits for the end of so many units from some time on: what one wait takes too long does not
// make others begin later.
func (t *Task) until(began time.Time, units int) {
	time.Sleep(time.Until(began.Add(time.Duration(int64(units) * t.Unit))))
}

// both returns a way for lazy and one for eager release.
func both(w func(eager bool) study.Way) []study.Way {
	lazy, eager := w(false), w(true)
	lazy.Name, eager.Name = "lazy", "eager"
	return []study.Way{lazy, eager}
}

// spec returns a task.
func spec(op *versions.Op, params any, operands ...graph.Operand) *graph.Spec {
	return &graph.Spec{Op: op, Params: params, Operands: operands}
}

// mix returns a number that says nothing of x, from 0 to 1.
func mix(x uint64) float64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) * 0x1p-53
}
