package exec

import (
	"context"

	"github.com/tessera-la/tessera/exec/graph"
)

// Domain is a [graph.Witness] whose task may have children on other nodes. The task's data stay
// where they are. Results that children write to data of their own, which stand for parts of the
// task's operands, are there when the children have ended.
type Domain interface {
	graph.Witness
	// Children returns a new job for the task's children, which ends with ctx, and the number of
	// its tasks that may be in flight before Submit waits. It returns nil if children are to run
	// here. A worker calls it while it executes the task.
	Children(ctx context.Context) (in Job, window int)
}

// childJob is the job of a task's children as their parent sees it: a [job] of the same runtime, or
// [remoteChildren].
type childJob interface {
	Job
	// cancel aborts the children and does not wait.
	cancel(error)
	// release releases what the job holds. The parent calls it when all children have ended, unless
	// whenDone has returned true.
	release()
	// whenDone arranges that another goroutine calls f with the job's error when all submitted children
	// have ended. It returns false, without a call of f, if they have ended already. The parent submits
	// no child after it.
	whenDone(f func(error)) bool
}

// remoteChildren is the job of children that a [Domain] executes. The parent lends its cores while it
// waits.
type remoteChildren struct {
	Job
	window  int
	sent    int // submitted tasks
	end     context.CancelCauseFunc
	lending func(f func())
}

// Submit implements [Job]. It lends the cores only if the window is full, because lending takes longer
// than submitting a task.
func (a *remoteChildren) Submit(s *graph.Spec) (id graph.TaskID, err error) {
	if a.sent++; a.sent > a.window && a.sent-a.Job.Completed() > a.window {
		a.lending(func() { id, err = a.Job.Submit(s) })
		return id, err
	}
	return a.Job.Submit(s)
}

// Wait implements [Job].
func (a *remoteChildren) Wait() (err error) {
	a.lending(func() { err = a.Job.Wait() })
	return err
}

// WaitOn implements [Job].
func (a *remoteChildren) WaitOn(d *graph.Datum) (err error) {
	a.lending(func() { err = a.Job.WaitOn(d) })
	return err
}

// cancel implements [childJob].
func (a *remoteChildren) cancel(err error) { a.end(err) }

// release implements [childJob].
func (a *remoteChildren) release() { a.end(nil) }

// whenDone implements [childJob].
func (a *remoteChildren) whenDone(f func(error)) bool {
	go func() {
		err := a.Job.Wait()
		a.release()
		f(err)
	}()
	return true
}
