package exec

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// Story is what happened to one task, so far: from its submission, by way of what it had
// to wait for and where it ran, to its end. See Options.Stories. As text:
//
//	task 12: gemm/f64(IN A(2,0), IN A(1,0), INOUT A(2,1))
//	  needs task 3 by A(2,0) v2 (RAW)
//	       41.2µs  waiting
//	       90.1µs  ready
//	       92.7µs  running on worker 1, version avx2
//	      350.4µs  done
type Story struct {
	Task     graph.TaskID
	Op       string
	Operands []string // as in "INOUT A(3,2)"
	Needs    []Need   // what it had to wait for, in the order of operands
	Steps    []Step   // its states, in the order of time
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
	Worker  int    // -1 if none had a part in it
	Version string // version that ran or was to run, if known
	Err     error  // why it failed, was cancelled, or is tried again
}

// String returns the story, a line for each step.
func (s Story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "task %d: %s(%s)\n", s.Task, s.Op, strings.Join(s.Operands, ", "))
	for _, n := range s.Needs {
		fmt.Fprintf(&b, "  needs task %d by %s v%d (%v)\n", n.Task, n.Datum, n.Version, n.Kind)
	}
	for _, p := range s.Steps {
		fmt.Fprintf(&b, "  %12v  %v", p.After, p.State)
		if p.Worker >= 0 {
			fmt.Fprintf(&b, " on worker %d", p.Worker)
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

// stories keeps the stories of the latest tasks in a ring. A task that goes on after its
// place has been given to a later one has no story any more: each method looks whether
// the place is still the task's.
type stories struct {
	start time.Time
	mu    sync.Mutex // a leaf
	ring  []Story    // task i at (i-1) mod len
}

func newStories(n int) *stories { return &stories{start: time.Now(), ring: make([]Story, n)} }

// slot returns the place of task id, which a later task may have by now. The caller holds mu.
func (s *stories) slot(id graph.TaskID) *Story { return &s.ring[(uint64(id)-1)%uint64(len(s.ring))] }

// submitted begins the story of a task that is about to be submitted.
func (s *stories) submitted(id graph.TaskID, spec *graph.Spec) {
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
func (s *stories) Depends(on, task graph.TaskID, kind graph.Dependence, d *graph.Datum, v uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.slot(task); st.Task == task {
		st.Needs = append(st.Needs, Need{Task: on, Kind: kind, Datum: d.String(), Version: v})
	}
}

// add adds a step to the story of a task, if it is among those that are kept.
func (s *stories) add(id graph.TaskID, p Step) {
	p.After = time.Since(s.start)
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.slot(id); st.Task == id {
		st.Steps = append(st.Steps, p)
	}
}

// get returns a copy of a story, which goes on.
func (s *stories) get(id graph.TaskID) (Story, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == 0 || s.slot(id).Task != id {
		return Story{}, &NoStoryError{Task: id, Kept: len(s.ring)}
	}
	st := *s.slot(id)
	st.Needs = append([]Need(nil), st.Needs...)
	st.Steps = append([]Step(nil), st.Steps...)
	return st, nil
}
