package exec

import (
	"context"

	"github.com/tessera-la/tessera/exec/graph"
)

// Domain is a [graph.Witness] whose task may have children elsewhere: on other nodes, as a
// rule. The task's data stay where they are. What children do to data of their own, which
// stand for parts of the task's operands, is there when they have ended.
type Domain interface {
	graph.Witness
	// Children returns a new job for the children of the task, which ends with ctx, and how
	// many of its tasks may be in flight before Submit waits. It returns nil if children
	// are to run here. A worker calls it, in the task.
	Children(ctx context.Context) (in Job, window int)
}

// brood is the children of a task as their parent sees them: a [job] of its own runtime, or
// what is [away].
type brood interface {
	Job
	// cancel ends them. It waits for nothing.
	cancel(error)
	// over is called when they have ended, unless left calls f.
	over()
	// left has f called, by another goroutine, when all that were submitted have ended,
	// with the job's error. It returns false, and f is not called, if that is so already.
	// Nothing is submitted after it.
	left(f func(error)) bool
}

// away is children that a [Domain] executes. Their parent lends its cores while it waits.
type away struct {
	Job
	window  int
	sent    int // tasks that were submitted
	end     context.CancelCauseFunc
	lending func(f func())
}

// Submit implements [Job]. As a rule there is room, and then lending the cores would take
// longer than to submit the task.
func (a *away) Submit(s *graph.Spec) (id graph.TaskID, err error) {
	if a.sent++; a.sent > a.window && a.sent-a.Job.Completed() > a.window {
		a.lending(func() { id, err = a.Job.Submit(s) })
		return id, err
	}
	return a.Job.Submit(s)
}

// Wait implements [Job].
func (a *away) Wait() (err error) {
	a.lending(func() { err = a.Job.Wait() })
	return err
}

// WaitOn implements [Job].
func (a *away) WaitOn(d *graph.Datum) (err error) {
	a.lending(func() { err = a.Job.WaitOn(d) })
	return err
}

// cancel implements [brood].
func (a *away) cancel(err error) { a.end(err) }

// over implements [brood].
func (a *away) over() { a.end(nil) }

// left implements [brood].
func (a *away) left(f func(error)) bool {
	go func() {
		err := a.Job.Wait()
		a.over()
		f(err)
	}()
	return true
}
