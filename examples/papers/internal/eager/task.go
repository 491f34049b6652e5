package eager

import (
	"time"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// nodes returns the nodes of the study, with the given number of agents.
func (o *options) nodes(agents int, ops ...*versions.Op) study.Nodes {
	return study.Nodes{Parents: make([]string, agents), Workers: o.workers, HTTP: !o.local, Ops: ops}
}

// Task is part of the parameter of all tasks.
type Task struct {
	Eager bool  // the task says when it has finished with an output
	Unit  int64 // how long it waits at least, in nanoseconds
}

// task returns the Task for the flags.
func (o *options) task(eager bool) Task { return Task{eager, int64(o.unit)} }

// finished says that a task has finished with operand i, if its release is eager.
func (t *Task) finished(c *versions.Call, i int) {
	if t.Eager {
		c.Finished(i)
	}
}

// wait waits for the given number of units.
func (t *Task) wait(units float64) { time.Sleep(time.Duration(units * float64(t.Unit))) }

// until waits until the given number of units after began. So one wait that takes too long does not delay later
// ones.
func (t *Task) until(began time.Time, units int) {
	time.Sleep(time.Until(began.Add(time.Duration(int64(units) * t.Unit))))
}

// both returns a way with lazy and one with eager release.
func both(w func(eager bool) study.Way) []study.Way {
	lazy, eager := w(false), w(true)
	lazy.Name, eager.Name = "lazy", "eager"
	return []study.Way{lazy, eager}
}

// spec returns a task.
func spec(op *versions.Op, params any, operands ...graph.Operand) *graph.Spec {
	return &graph.Spec{Op: op, Params: params, Operands: operands}
}

// mix returns a pseudo-random number in [0, 1] for x.
func mix(x uint64) float64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) * 0x1p-53
}
