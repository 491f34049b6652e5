package dispatch

import (
	"fmt"
	"strings"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/words"
)

// Kind names a built-in policy. If a policy leaves open which of several tasks comes first, it is
// the one with the largest priority, and of these the one that was submitted first.
type Kind uint8

// The policies. FIFO, LIFO, Locality and FIFOData are those of the paper on
// linear algebra with PyCOMPSs (Amela et al., 2018), section 2.3.
const (
	// Priority takes the task with the largest priority. The default.
	Priority Kind = iota
	// FIFO takes the task that has been ready for longest. Tasks that the end of one task has freed
	// are ready for equally long.
	FIFO
	// LIFO takes the task that became ready last.
	LIFO
	// Locality takes the task with the most bytes of input at the worker's location: see
	// graph.Task.BytesAt. With one location only it is Priority.
	Locality
	// FIFOData takes a task that the worker's last task has freed; if there is none it is like
	// Locality.
	FIFOData
	// Steal takes the task that the worker itself has freed last. If there is none, it takes the
	// task that has been ready for longest from the next worker at its location that has any, or
	// else from the next one elsewhere.
	Steal
	// EarliestFinish gives each task to the worker that is expected to finish it first, by the
	// known times of its versions and of moving its data. A worker takes its tasks by priority.
	EarliestFinish
)

var names = words.Of[Kind]{"priority", "fifo", "lifo", "locality", "fifodata", "steal", "eft"}

// Kinds returns all policies.
func Kinds() []Kind { return names.All() }

func (k Kind) String() string { return names.Name(k) }

// UnknownKindError reports a word that names no policy.
type UnknownKindError struct{ Word string }

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("unknown scheduling policy %q; known: %s", e.Word, strings.Join(names, ", "))
}

// Parse returns the policy called s. The error is an *UnknownKindError.
func Parse(s string) (Kind, error) {
	if k, ok := names.Find(s); ok {
		return k, nil
	}
	return 0, &UnknownKindError{Word: s}
}

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
		return newNear(m)
	case FIFOData:
		return newFIFOData(m)
	case Steal:
		return newStealing(m.Locations)
	case EarliestFinish:
		return newEarliestFinish(len(m.Locations), len(m.Locations)-m.Accelerators, m.Costs)
	}
	panic(graph.Error("dispatch: no such policy: " + kind.String()))
}
