package exec

import (
	"fmt"
	"strings"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// Watchdog reports tasks and jobs of a runtime that are stuck. It does not end them.
type Watchdog struct {
	// After is the time after which a running task, or a job in which nothing happens although a
	// worker is idle, counts as stuck. It must be longer than the longest task. The time in which a
	// task waits for its children or the process is stopped does not count.
	After time.Duration
	// Report is called once for each stuck task or job, on a goroutine of the runtime. It may call
	// Job methods that do not wait.
	Report func(Stuck)
}

// Watch calls look four times in After, so that a report is at most a quarter late, and reports
// what look finds. Each look gets the time before it in which the process could not run: it does
// not count. stop ends the watch and waits for a report in progress. Implementations of [Runtime]
// call Watch.
func (w *Watchdog) Watch(look func(pause time.Duration, now time.Time) []Stuck) (stop func()) {
	quit, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(w.every())
		defer tick.Stop()
		for last := time.Now(); ; last = time.Now() {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			now := time.Now()
			for _, s := range look(w.pause(last, now), now) {
				w.Report(s)
			}
		}
	}()
	return func() {
		close(quit)
		<-over
	}
}

// every is the time between two looks.
func (w *Watchdog) every() time.Duration { return max(w.After/4, time.Millisecond) }

// pause returns how long the process could not run between two looks, 0 if that is not known. A
// look that comes much too late shows that the process was stopped or had no core.
func (w *Watchdog) pause(last, now time.Time) time.Duration {
	if pause := now.Sub(last) - w.every(); pause > w.every() {
		return pause
	}
	return 0
}

// Stuck is what a watchdog has found.
type Stuck struct {
	Job uint64 // number of the job in its runtime
	// Tasks have run for longer than Watchdog.After since they began or last waited for children.
	// It is empty for a job in which no task runs.
	Tasks []StuckTask
	// Completed and Submitted count the tasks of the job.
	Completed, Submitted int64
	// Waits says what each node of a cluster waits for, a line each, if no task of the job
	// runs or is on its way.
	Waits []string
}

// StuckTask is a task that does not end.
type StuckTask struct {
	Task     graph.TaskID
	Op       string
	Version  string
	Operands []string // as in "INOUT A(3,2)"
	Node     string   // of a cluster, whose workers are not told apart
	Waits    string   // what the task waits for there, as in "A(3,2) from node1"; empty if it runs
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
		operands, took := strings.Join(t.Operands, ", "), t.For.Round(time.Millisecond)
		switch {
		case t.Node == "":
			fmt.Fprintf(&b, "\n  task %d, %s (%s) on worker %d runs for %v: %s", t.Task, t.Op, t.Version, t.Worker,
				took, operands)
		case t.Waits == "":
			fmt.Fprintf(&b, "\n  task %d, %s on %s runs for %v: %s", t.Task, t.Op, t.Node, took, operands)
		default:
			fmt.Fprintf(&b, "\n  task %d, %s on %s waits for %s for %v: %s", t.Task, t.Op, t.Node, t.Waits, took,
				operands)
		}
	}
	for _, w := range s.Waits {
		b.WriteString("\n  " + w)
	}
	return b.String()
}
