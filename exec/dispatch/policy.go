package dispatch

import (
	"cmp"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// Policy keeps the ready tasks and decides which one a worker takes next. It
// is not safe for concurrent use.
type Policy interface {
	// Push hands over tasks that have become ready. from is the worker whose task has just ended
	// and freed them, all at once. It is below 0 for tasks from elsewhere, which become ready one
	// after the other: -1, or [GaveWay]. At the end of each of its tasks, before its next Pop, a
	// worker pushes the tasks that it freed, even if there are none. The slice is the caller's; its
	// order may be changed.
	Push(ready []*graph.Task, from int)
	// Pop returns the task that the worker executes next, nil if there is none. It must return one
	// if the policy holds any, unless the policy is a [Reserver].
	Pop(worker int) *graph.Task
	// Len returns the number of tasks held.
	Len() int
}

// GaveWay is the from of tasks that have run for a while and give way to others: a policy without
// an opinion of its own takes other tasks first.
const GaveWay = -2

// Reserver is a [Policy] that may reserve tasks for other workers than the one that asks: Pop may
// return nil although Len is not 0. A worker with a reserved task must then be busy, so that it
// asks at its next Push, or Wants must report true for it.
type Reserver interface {
	Policy
	// Wants reports whether a worker without a task should call Pop.
	Wants(worker int) bool
}

// Machine describes the workers to a policy.
type Machine struct {
	// Locations has the location of each worker: a memory near to it, a NUMA node's or an
	// accelerator's. They are numbered from 0. Its length is the number of workers, at least 1.
	Locations []int
	// Accelerators is the number of accelerators' workers, which are the last ones.
	Accelerators int
	// Able says for each worker whether it can run the tasks of this policy; the others never call
	// Pop. Nil means that all can. Workers of different kinds have a policy for each set of kinds
	// that can run some tasks: see ByKind.
	Able []bool
	// Held is for Locality and FIFOData; nil means graph.Datum.At.
	Held Held
	// Costs is for EarliestFinish; nil means NoCosts.
	Costs Costs
}

// Held reports where the inputs of a task are: it calls yield for each location that has some, with
// their bytes. It may call yield several times for one location.
type Held func(t *graph.Task, yield func(location int, bytes int64))

// Costs estimates times, in seconds, for the policy EarliestFinish, which makes one call at a time.
type Costs interface {
	// Run returns the expected time of a task on a worker: +Inf if it cannot run there, 0 if it is
	// unknown.
	Run(t *graph.Task, worker int) float64
	// Move returns the expected time to bring the inputs of a task to a worker from where they are
	// now; 0 if they are there.
	Move(t *graph.Task, worker int) float64
}

// NoCosts are unknown Costs: every task takes no time anywhere.
type NoCosts struct{}

// Run returns 0.
func (NoCosts) Run(*graph.Task, int) float64 { return 0 }

// Move returns 0.
func (NoCosts) Move(*graph.Task, int) float64 { return 0 }

// Places returns the number of locations.
func (m *Machine) Places() int { return slices.Max(m.Locations) + 1 }

// arrange sorts tasks that have become ready at once: the largest priority first, then in the order
// of submission.
func arrange(ready []*graph.Task) {
	if len(ready) > 1 {
		slices.SortStableFunc(ready, func(a, b *graph.Task) int {
			return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID(), b.ID()))
		})
	}
}

// prioritised is a task with its rank.
type prioritised struct {
	priority int64
	id       graph.TaskID
	task     *graph.Task
}

func (a *prioritised) before(b *prioritised) bool {
	return a.priority > b.priority || (a.priority == b.priority && a.id < b.id)
}
