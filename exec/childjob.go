package exec

import (
	"context"
	"sync"

	"github.com/tessera-la/tessera/exec/graph"
)

// Domain is a [graph.Witness] whose task may have children on other nodes. The task's data stay
// where they are. Children work on data of their own, which stand for parts of the task's operands:
// when the children have ended, their results are in the memory of the operands.
type Domain interface {
	graph.Witness
	// Children returns a new job for the task's children, which ends with ctx. Its Submit waits when
	// window tasks are in flight. The job is nil if children are to run on this node. A worker calls
	// Children while it executes the task.
	//
	// If the job is a Hander, operands of the task may be handed on before its end.
	Children(ctx context.Context) (job Job, window int)
}

// Hander is a [Job] of children on other nodes that can do without the memory of an operand of their parent.
type Hander interface {
	Job
	// HandOn calls done when the version of d that the latest submitted task makes is in d.Value, and the job does
	// not use that memory any more, or with the error because of which the version does not come. No task that is
	// submitted later uses d.
	HandOn(d *graph.Datum, done func(error))
}

// childJob is the job of a task's children as their parent sees it: a [job] of the same runtime, or
// [remoteChildren].
type childJob interface {
	Job
	// cancel aborts the children and does not wait.
	cancel(error)
	// release frees what the job holds. The parent calls it when all children have ended, unless
	// whenDone has returned true: then the job frees it.
	release()
	// whenDone arranges that another goroutine calls f with the job's error when all submitted children
	// have ended. It returns false, without a call of f, if they have ended already. The parent submits
	// no child after it.
	whenDone(f func(error)) bool
}

// remoteChildren is the job of children that a [Domain] executes. The parent lends its cores while it
// waits for them.
type remoteChildren struct {
	Job
	window  int
	sent    int                     // submitted tasks
	end     context.CancelCauseFunc // of the job's context
	lending func(f func())          // calls f while other workers use the parent's cores
	handing sync.WaitGroup          // operands that are yet to be handed on
}

// hand calls give when datum d has its latest version, before the children end. It does nothing if the job cannot.
func (r *remoteChildren) hand(d *graph.Datum, give func()) {
	h, ok := r.Job.(Hander)
	if !ok {
		return
	}
	r.handing.Add(1)
	h.HandOn(d, func(err error) {
		defer r.handing.Done()
		if err == nil {
			give()
		}
	})
}

// Submit implements [Job]. It lends the cores only if the window is full, because lending takes longer
// than submitting a task.
func (r *remoteChildren) Submit(s *graph.Spec) (id graph.TaskID, err error) {
	if r.sent++; r.sent > r.window && r.sent-r.Job.Completed() > r.window {
		r.lending(func() { id, err = r.Job.Submit(s) })
		return id, err
	}
	return r.Job.Submit(s)
}

// Wait implements [Job].
func (r *remoteChildren) Wait() (err error) {
	r.lending(func() {
		err = r.Job.Wait()
		r.handing.Wait()
	})
	return err
}

// WaitOn implements [Job].
func (r *remoteChildren) WaitOn(d *graph.Datum) (err error) {
	r.lending(func() { err = r.Job.WaitOn(d) })
	return err
}

// cancel implements [childJob].
func (r *remoteChildren) cancel(err error) { r.end(err) }

// release implements [childJob].
func (r *remoteChildren) release() { r.end(nil) }

// whenDone implements [childJob].
func (r *remoteChildren) whenDone(f func(error)) bool {
	go func() {
		err := r.Job.Wait()
		r.handing.Wait()
		r.release()
		f(err)
	}()
	return true
}
