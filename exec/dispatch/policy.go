package dispatch

import (
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/exec/graph"
)

// Policy keeps the ready tasks and decides which one a worker takes next. It
// is not safe for concurrent use.
type Policy interface {
	// Push hands over tasks that have become ready. From is the worker whose
	// task has just ended and freed them, or -1 if they come from elsewhere.
	// At the end of each of its tasks a worker pushes what it freed, also
	// when that is nothing, before its next Pop.
	Push(ready []*graph.Task, from int)
	// Pop returns the task that the worker is to execute, nil if none is
	// ready for it. If the policy holds tasks and each of them is better left to
	// another worker, that worker must be busy: its next Push is the next chance.
	Pop(worker int) *graph.Task
	// Len returns the number of tasks held.
	Len() int
}

// Kind names a policy.
type Kind uint8

// The policies. FIFO, LIFO, Locality and FIFOData are those of the paper on
// linear algebra with PyCOMPSs (Amela et al., 2018), section 2.3; the choices of
// victims are those of DaphneSched (Eleliemy and Ciorba, 2023).
const (
	// Priority takes the task with the largest priority; among equals the one
	// that is first in program order. The default.
	Priority Kind = iota
	// FIFO takes the task that has been ready for longest.
	FIFO
	// LIFO takes the task that became ready last.
	LIFO
	// Locality takes the task with the most input bytes at the worker's
	// location; among equals the one that has been ready for longest.
	Locality
	// FIFOData takes, in FIFO order, a task freed by the one that the worker
	// has just ended; if there is none it does as Locality.
	FIFOData
	// Steal takes the task that the worker itself has freed last; if there is
	// none, the one that has been ready for longest of those that the next
	// worker, or the one after it, has freed.
	Steal
	// StealRandom steals from workers beginning with one taken at random.
	StealRandom
	// StealNUMA steals from workers of the same NUMA node first.
	StealNUMA
	// EarliestFinish gives each task to the worker that is expected to finish it
	// first, by the times that are known of its versions and of moving its data.
	EarliestFinish
)

var names = [...]string{"priority", "fifo", "lifo", "locality", "fifodata", "steal", "steal-random", "steal-numa", "eft"}

// Kinds returns all policies.
func Kinds() []Kind {
	return []Kind{Priority, FIFO, LIFO, Locality, FIFOData, Steal, StealRandom, StealNUMA, EarliestFinish}
}

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
	// Nodes has the NUMA node of each worker; its length is their number, at
	// least 1.
	Nodes []int
	// Accelerators is how many of the workers, the last ones, are those of
	// accelerators.
	Accelerators int
	// Costs is for EarliestFinish; nil means NoCosts.
	Costs Costs
}

// Workers returns the machine of n workers on one NUMA node.
func Workers(n int) Machine { return Machine{Nodes: make([]int, n)} }

// New returns an empty policy for the workers of m. It panics if kind is not one
// of [Kinds].
func New(kind Kind, m Machine) Policy {
	workers := len(m.Nodes)
	switch kind {
	case Priority:
		return &priority{}
	case FIFO:
		return &fifo{}
	case LIFO:
		return &lifo{}
	case Locality:
		return newLocality(workers)
	case FIFOData:
		return newFIFOData(workers)
	case Steal:
		return newStealing(workers, sequential(workers))
	case StealRandom:
		return newStealing(workers, newRandom(workers))
	case StealNUMA:
		return newStealing(workers, newNUMAFirst(m.Nodes))
	case EarliestFinish:
		return newEarliestFinish(workers, workers-m.Accelerators, m.Costs)
	}
	panic(graph.Error("dispatch: no such policy: " + kind.String()))
}
