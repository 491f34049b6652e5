package dispatch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec/graph"
)

// Policy keeps the ready tasks and decides which one a worker takes next. It
// is not safe for concurrent use.
type Policy interface {
	// Push hands over tasks that have become ready. From is the worker whose
	// task has just ended and freed them, all at once, or -1 if they come from
	// elsewhere, one after the other. At the end of each of its tasks a worker
	// pushes what it freed, also when that is nothing, before its next Pop. The
	// slice is the caller's; its order may be changed.
	Push(ready []*graph.Task, from int)
	// Pop returns the task that the worker is to execute, nil if there is none. It
	// must return one if the policy holds any, unless the policy is a [Reserver].
	Pop(worker int) *graph.Task
	// Len returns the number of tasks held.
	Len() int
}

// Reserver is a [Policy] that may leave tasks to workers other than the one that
// asks: Pop may return nil although Len is not 0. When a policy does so, a worker
// for which there is a task must be busy, so that its next Push is the next
// chance, or Wants must say so.
type Reserver interface {
	Policy
	// Wants reports whether a worker without a task had better ask.
	Wants(worker int) bool
}

// Kind names a built-in policy. Wherever one leaves it open which of several tasks
// comes first, it is the one with the largest priority, and of those the one that
// was submitted first.
type Kind uint8

// The policies. FIFO, LIFO, Locality and FIFOData are those of the paper on
// linear algebra with PyCOMPSs (Amela et al., 2018), section 2.3.
const (
	// Priority takes the task with the largest priority. The default.
	Priority Kind = iota
	// FIFO takes the task that has been ready for longest. Those that the end of one
	// task has freed are ready for equally long.
	FIFO
	// LIFO takes the task that became ready last.
	LIFO
	// Locality takes the task with the most bytes of input at the worker's location:
	// see graph.Task.BytesAt. Where there is one location only, that is Priority.
	Locality
	// FIFOData takes a task that the one which the worker has just ended has freed;
	// if there is none it does as Locality.
	FIFOData
	// Steal takes the task that the worker itself has freed last; if there is
	// none, the one that has been ready for longest of those of another worker: the
	// next one at its location that has any, or else the next one elsewhere.
	Steal
	// EarliestFinish gives each task to the worker that is expected to finish it
	// first, by the times that are known of its versions and of moving its data. A
	// worker takes its tasks by priority.
	EarliestFinish
)

var names = [...]string{"priority", "fifo", "lifo", "locality", "fifodata", "steal", "eft"}

// Kinds returns all policies.
func Kinds() []Kind { return []Kind{Priority, FIFO, LIFO, Locality, FIFOData, Steal, EarliestFinish} }

func (k Kind) String() string {
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// UnknownKindError reports a word that names no policy.
type UnknownKindError struct{ Word string }

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("unknown scheduling policy %q; known: %s", e.Word, strings.Join(names[:], ", "))
}

// Parse returns the policy called s. The error is an *UnknownKindError.
func Parse(s string) (Kind, error) {
	for i, n := range names {
		if strings.EqualFold(s, n) {
			return Kind(i), nil
		}
	}
	return 0, &UnknownKindError{Word: s}
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
	// Costs is for EarliestFinish; nil means NoCosts.
	Costs Costs
}

// Workers returns the machine of n workers at one location.
func Workers(n int) Machine { return Machine{Locations: make([]int, n)} }

// Places returns the number of locations.
func (m *Machine) Places() int { return slices.Max(m.Locations) + 1 }

// New returns an empty policy for the workers of m. It panics if kind is not one
// of [Kinds].
func New(kind Kind, m Machine) Policy {
	switch kind {
	case Priority:
		return &priority{}
	case FIFO:
		return &fifo{}
	case LIFO:
		return &lifo{}
	case Locality:
		if m.Places() == 1 {
			return &priority{}
		}
		return newScored(m, bytesAt)
	case FIFOData:
		return newFIFOData(m)
	case Steal:
		return newStealing(m.Locations)
	case EarliestFinish:
		return newEarliestFinish(len(m.Locations), len(m.Locations)-m.Accelerators, m.Costs)
	}
	panic(graph.Error("dispatch: no such policy: " + kind.String()))
}

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
