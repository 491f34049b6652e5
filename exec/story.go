package exec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// Story is the history of one task so far: its submission, the tasks that it waited for, where it
// ran, and its end. See Options.Stories. As text:
//
//	task 12: gemm/f64(IN A(2,0), IN A(1,0), INOUT A(2,1))
//	  needs task 3 by A(2,0) v2 (RAW)
//	       41.2µs  waiting
//	       90.1µs  ready
//	       92.7µs  running on worker 1, version avx2
//	      350.4µs  done
//
// On a cluster a step names its node. Steps with a Note say why the task was placed there, and
// which operands came from which node.
type Story struct {
	Task     graph.TaskID
	Op       string
	Operands []string // as in "INOUT A(3,2)"
	Needs    []Need   // the tasks it waited for, in the order of operands
	Steps    []Step   // its states, in the order of time
	Left     int      // number of steps dropped after the first, as there were too many
}

// Need is one dependence of a task on an earlier one.
type Need struct {
	Task    graph.TaskID
	Kind    graph.Dependence
	Datum   string
	Version uint32 // of the datum: the one that the earlier task made or reads
}

// Step is one state of a task.
type Step struct {
	After   time.Duration // since the job was made
	State   graph.State
	Note    string // what happened in that state; empty if the task entered it
	Node    string // node of a cluster; empty if none took part
	Worker  int    // -1 if none took part
	Version string // version that ran or was to run, if known
	Err     error  // why it failed, was cancelled, or is retried
}

// String returns the story, a line for each step.
func (s Story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "task %d: %s(%s)\n", s.Task, s.Op, strings.Join(s.Operands, ", "))
	for _, n := range s.Needs {
		fmt.Fprintf(&b, "  needs task %d by %s v%d (%v)\n", n.Task, n.Datum, n.Version, n.Kind)
	}
	for i, p := range s.Steps {
		if i == 1 && s.Left > 0 {
			fmt.Fprintf(&b, "                … %d steps\n", s.Left)
		}
		fmt.Fprintf(&b, "  %12v  %s", p.After, cmp.Or(p.Note, p.State.String()))
		on := " on "
		if p.Node != "" {
			b.WriteString(on + p.Node)
			on = ", "
		}
		if p.Worker >= 0 {
			fmt.Fprintf(&b, "%sworker %d", on, p.Worker)
		}
		if p.Version != "" {
			fmt.Fprintf(&b, ", version %s", p.Version)
		}
		if p.Err != nil {
			fmt.Fprintf(&b, ": %v", p.Err)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// NoStoryError is returned for a task whose story was not kept.
type NoStoryError struct {
	Task graph.TaskID
	Kept int // Options.Stories
}

func (e *NoStoryError) Error() string {
	if e.Kept == 0 {
		return fmt.Sprintf("exec: no story of task %d: set Options.Stories to keep stories", e.Task)
	}
	return fmt.Sprintf("exec: no story of task %d: not submitted, or not among the latest %d", e.Task, e.Kept)
}

// Stories keeps the stories of a job's latest tasks in a ring, for implementations of [Job]. A
// later task takes the place of an earlier one, which then has no story any more: each method
// checks that the place is still the task's. It is safe for concurrent use.
type Stories struct {
	start time.Time
	mu    sync.Mutex // a leaf
	ring  []Story    // task i at (i-1) mod len
}

// maxSteps bounds the steps of a story, since a task may be retried often: the first and the latest
// steps stay.
const maxSteps = 64

// NewStories returns stories of the latest n tasks.
func NewStories(n int) *Stories { return &Stories{start: time.Now(), ring: make([]Story, n)} }

// slot returns the place of task id, which may hold a later task. The caller holds mu.
func (s *Stories) slot(id graph.TaskID) *Story { return &s.ring[(uint64(id)-1)%uint64(len(s.ring))] }

// Submitted begins the story of a task that is about to be submitted.
func (s *Stories) Submitted(id graph.TaskID, spec *graph.Spec) {
	st := Story{Task: id, Op: spec.Op.OpName()}
	for _, o := range spec.Operands {
		st.Operands = append(st.Operands, o.Mode.String()+" "+o.Datum.String())
	}
	st.Steps = []Step{{After: time.Since(s.start), State: graph.Waiting, Worker: -1}}
	s.mu.Lock()
	*s.slot(id) = st
	s.mu.Unlock()
}

// Depends makes stories a graph.Observer. The graph calls it while the task is submitted.
func (s *Stories) Depends(on, task graph.TaskID, kind graph.Dependence, d *graph.Datum, v uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.slot(task); st.Task == task {
		st.Needs = append(st.Needs, Need{Task: on, Kind: kind, Datum: d.String(), Version: v})
	}
}

// Add adds a step to the story of a task, if its story is still kept. A zero at means now. A step
// is never before the previous one, since the clocks of nodes differ.
func (s *Stories) Add(id graph.TaskID, p Step, at time.Time) {
	if at.IsZero() {
		at = time.Now()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.slot(id)
	if id == 0 || st.Task != id {
		return
	}
	p.After = max(at.Sub(s.start), st.Steps[len(st.Steps)-1].After)
	if len(st.Steps) == maxSteps {
		st.Steps = slices.Delete(st.Steps, 1, 2)
		st.Left++
	}
	st.Steps = append(st.Steps, p)
}

// Get returns a copy of a task's story so far. The error is a *NoStoryError.
func (s *Stories) Get(id graph.TaskID) (Story, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == 0 || s.slot(id).Task != id {
		return Story{}, &NoStoryError{Task: id, Kept: len(s.ring)}
	}
	st := *s.slot(id)
	st.Operands, st.Needs, st.Steps = slices.Clone(st.Operands), slices.Clone(st.Needs), slices.Clone(st.Steps)
	return st, nil
}
