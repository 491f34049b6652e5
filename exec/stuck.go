package exec

import (
	"fmt"
	"strings"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// Watchdog looks after a runtime: it tells of what is stuck, and does nothing
// about it.
type Watchdog struct {
	// After is the time after which a task that runs, or a job in which nothing
	// happens although a worker is idle, is taken for stuck. It must be longer than
	// the longest task. The time that a task waits for its children does not count.
	After time.Duration
	// Report is called once for each thing that is stuck, on a goroutine of the
	// runtime. It may call Job methods that do not wait.
	Report func(Stuck)
}

// Stuck is what a watchdog has found.
type Stuck struct {
	Job uint64 // number of the job in its runtime
	// Tasks are those that have been running for longer than Watchdog.After, since
	// they began or last waited for children; of a job in which no task runs, none.
	Tasks []StuckTask
	// Completed and Submitted count the tasks of the job.
	Completed, Submitted int64
}

// StuckTask is a task that does not end.
type StuckTask struct {
	Task     graph.TaskID
	Op       string
	Version  string
	Operands []string // as in "INOUT A(3,2)"
	Worker   int
	For      time.Duration
}

// String returns the report, a line for the job and one for each task, with what the task
// works on: often that tells what it waits for.
func (s Stuck) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "job %d is stuck after %d of %d tasks", s.Job, s.Completed, s.Submitted)
	if len(s.Tasks) == 0 {
		b.WriteString(": none of the others runs")
	}
	for _, t := range s.Tasks {
		fmt.Fprintf(&b, "\n  task %d, %s (%s) on worker %d runs for %v: %s", t.Task, t.Op, t.Version, t.Worker,
			t.For.Round(time.Millisecond), strings.Join(t.Operands, ", "))
	}
	return b.String()
}
