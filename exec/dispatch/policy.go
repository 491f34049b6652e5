package dispatch

import (
	"cmp"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// Policy keeps the ready tasks and decides which one a worker takes next. It
// is not safe for concurrent use.
type Policy interface {
	// Push hands over tasks that have become ready. From is the worker whose
	// task has just ended and freed them, all at once, or below 0 if they come from
	// elsewhere, one after the other: -1, or [GaveWay]. At the end of each of its tasks a worker
	// pushes what it freed, also when that is nothing, before its next Pop. The
	// slice is the caller's; its order may be changed.
	Push(ready []*graph.Task, from int)
	// Pop returns the task that the worker is to execute, nil if there is none. It
	// must return one if the policy holds any, unless the policy is a [Reserver].
	Pop(worker int) *graph.Task
	// Len returns the number of tasks held.
	Len() int
}

// GaveWay is where tasks come from that have run for a while and give way to others: where a
// policy has no opinion, others come first.
const GaveWay = -2

// Reserver is a [Policy] that may leave tasks to workers other than the one that
// asks: Pop may return nil although Len is not 0. When a policy does so, a worker
// for which there is a task must be busy, so that its next Push is the next
// chance, or Wants must say so.
type Reserver interface {
	Policy
	// Wants reports whether a worker without a task had better ask.
	Wants(worker int) bool
}

// Machine is what a policy knows of the workers.
type Machine struct {
	// Locations has the location of each worker, a memory that is near to it: that
	// of a NUMA node, or of an accelerator. They are numbered from 0. Its length is
	// the number of workers, at least 1.
	Locations []int
	// Accelerators is how many of the workers, the last ones, are those of
	// accelerators.
	Accelerators int
	// Able says of each worker whether it can run the tasks of this policy; others do
	// not ask. Nil means that all can. Where workers are of unlike kinds there is a
	// policy for each set of kinds that can run some tasks: see ByKind.
	Able []bool
	// Held is for Locality and FIFOData; nil goes by graph.Datum.At.
	Held Held
	// Costs is for EarliestFinish; nil means NoCosts.
	Costs Costs
}

// Held tells where what a task reads is: it calls yield for locations that have something of
// it, with the bytes, and may do so several times for one.
type Held func(t *graph.Task, yield func(location int, bytes int64))

// Costs is what the policy EarliestFinish goes by. Times are in seconds. The
// policy calls it one call at a time.
type Costs interface {
	// Run returns the expected time of a task on a worker: +Inf if it cannot run
	// there, 0 if nothing is known.
	Run(t *graph.Task, worker int) float64
	// Move returns the expected time to bring what a task reads to a worker from
	// where it is at present; 0 where nothing has to be moved.
	Move(t *graph.Task, worker int) float64
}

// NoCosts knows nothing: every task takes no time anywhere.
type NoCosts struct{}

// Run returns 0.
func (NoCosts) Run(*graph.Task, int) float64 { return 0 }

// Move returns 0.
func (NoCosts) Move(*graph.Task, int) float64 { return 0 }

// Places returns the number of locations.
func (m *Machine) Places() int { return slices.Max(m.Locations) + 1 }

// arrange puts tasks that have become ready at once in their order: the largest
// priority first, and then the order of submission.
func arrange(ready []*graph.Task) {
	if len(ready) > 1 {
		slices.SortStableFunc(ready, func(a, b *graph.Task) int {
			return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID(), b.ID()))
		})
	}
}

// prioritised is a task with what ranks it.
type prioritised struct {
	priority int64
	id       graph.TaskID
	task     *graph.Task
}

func (a *prioritised) before(b *prioritised) bool {
	return a.priority > b.priority || (a.priority == b.priority && a.id < b.id)
}
