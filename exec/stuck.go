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
	// the longest task. The time that a task waits for its children does not count, nor
	// does the time in which the process was stopped.
	After time.Duration
	// Report is called once for each thing that is stuck, on a goroutine of the
	// runtime. It may call Job methods that do not wait.
	Report func(Stuck)
}

// Watch has a runtime look at everything four times in After, so that what is stuck is told of at
// most a quarter too late, and reports what it finds. Stop ends that, and waits for a report that
// is being made. Each look is told for how long nothing could run before it: that does not count.
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

// pause returns how long nothing could run between the end of a look and the next one, 0 if that is
// not known: one that comes much too late says that the process was stopped, or had no core.
func (w *Watchdog) pause(last, now time.Time) time.Duration {
	if pause := now.Sub(last) - w.every(); pause > w.every() {
		return pause
	}
	return 0
}

// Stuck is what a watchdog has found.
type Stuck struct {
	Job uint64 // number of the job in its runtime
	// Tasks are those that have been running for longer than Watchdog.After, since
	// they began or last waited for children; of a job in which no task runs, none.
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
			fmt.Fprintf(&b, "\n  task %d, %s (%s) on worker %d runs for %v: %s", t.Task, t.Op, t.Version, t.Worker, took, operands)
		case t.Waits == "":
			fmt.Fprintf(&b, "\n  task %d, %s on %s runs for %v: %s", t.Task, t.Op, t.Node, took, operands)
		default:
			fmt.Fprintf(&b, "\n  task %d, %s on %s waits for %s for %v: %s", t.Task, t.Op, t.Node, t.Waits, took, operands)
		}
	}
	for _, w := range s.Waits {
		b.WriteString("\n  " + w)
	}
	return b.String()
}
