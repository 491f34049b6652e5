package exec

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// parent is an attempt on cores as the version sees it by [versions.Call].Task. It may finish with
// operands, have children, and wait without occupying its cores.
type parent struct {
	attempt
	seat   *seat          // of the worker
	nested childJob       // the children's job; nil if there are none
	yields func(f func()) // calls f while other workers use the cores: see worker.yield
}

// Await calls f, which waits, in a task, and lends the cores of the worker that executes call to
// other workers until f returns. So any number of tasks may wait without occupying cores, at the
// cost of a thread each. Members of a team must not call it. Outside of a runtime it only calls f.
//
// A job of [Nested] does the same while it waits.
func Await(call *versions.Call, f func()) {
	if w, ok := call.Task.(*parent); ok {
		w.yields(f)
		return
	}
	f()
}

// ErrNoTask is the error of [Nested] for a call that no runtime made.
var ErrNoTask = errors.New("exec: the call belongs to no task")

// Nested returns the job of the children of the task that call executes. The first call makes it.
// Children are tasks like others. They work on data of their own, for example on parts of the
// parent's tile, and run on the workers of the same runtime in the order that their data ask for.
// They may have children in turn.
//
// The parent ends when its children have ended. If Run returns nil before that, its worker goes on
// to other tasks and the last child ends the parent. An error of the children is the parent's.
// [Job.Wait], [Job.WaitOn] and a [Job.Submit] that waits for the window lend the parent's cores, as
// [Await] does; only the goroutine of Run may call them. [Children.Hand] passes the parent's
// operands on as children make them. Data of children may be renamed: when the children have ended,
// the latest value is copied into the datum's first value, a versions.Value, which the parent
// knows.
//
// The error is ErrNoTask outside of tasks: then the version must do the work by itself.
//
// On a node of a cluster that has other nodes below it, children run on these, too: see [Domain].
// Such children should be large enough to be sent, and their values must be sendable. [NestedHere]
// keeps smaller ones on this node.
//
// Reference: "Hierarchical management of extreme-scale task-based applications" (Lordan et al.,
// 2023).
func Nested(call *versions.Call) (Children, error) { return nest(call, true) }

// NestedHere is [Nested] for children that should stay in this process, because they are short or
// use values that other nodes do not have. If the task has children already, it returns their job.
func NestedHere(call *versions.Call) (Children, error) { return nest(call, false) }

// nest returns the children's job. If far is set, a Domain may execute it on other nodes.
func nest(call *versions.Call, far bool) (Children, error) {
	p, ok := call.Task.(*parent)
	if !ok {
		return Children{}, ErrNoTask
	}
	if d, ok := p.task.Witness().(Domain); ok && far && p.nested == nil {
		ctx, cancel := context.WithCancelCause(call.Ctx)
		if in, window := d.Children(ctx); in != nil {
			p.nested = &remoteChildren{Job: in, window: window, end: cancel, lending: p.waitLending}
		} else {
			cancel(nil)
		}
	}
	if p.nested == nil {
		j := jobOf(p.task)
		children := newJob(p.rt, j.jobs, call.Ctx)
		children.adopter, children.lending = j, p.waitLending
		p.nested = children
	}
	return Children{p.nested, p}, nil
}

// waitLending calls f, which waits for children, and lends the parent's cores meanwhile.
func (p *parent) waitLending(f func()) {
	if p.watchdog != nil {
		defer p.watchdog.excuse(p.watched)()
	}
	p.yields(f)
}

// Children is the job of a task's children.
type Children struct {
	Job
	of *parent
}

// Hand finishes with operand i of the parent, as [versions.Call.Finished] does, as soon as the
// version of d that the latest submitted task makes is there. If d is renamed, the operand is handed
// on at the parent's end only. So it is if children are on other nodes and the value of d is not the
// operand itself, for example a part of it. Children submitted later must not touch the operand's
// memory. If the version cannot be made, the parent fails.
//
// It panics with graph.ErrOperand or graph.ErrGiven if the parent has no operand i or has finished
// with it. An operand that is handed on twice makes the parent fail.
func (c Children) Hand(d *graph.Datum, i int) {
	t := c.of.task
	if i < 0 || i >= t.Len() {
		panic(graph.ErrOperand)
	}
	if t.Given(i) {
		panic(graph.ErrGiven)
	}
	// The parent's end hands on all operands that have not been handed on before.
	if d.Renamed() {
		return // earlier children may still read the value into which the latest is copied
	}
	give := func(fail func(error)) {
		defer func() {
			if v := recover(); v != nil { // the operand was given meanwhile
				fail(&PanicError{Value: v, Stack: debug.Stack()})
			}
		}()
		c.of.give(t, i)
	}
	switch j := c.Job.(type) {
	case *job:
		j.watch(d, func(f *graph.Fault) {
			if f == nil {
				f = j.sched.devices.Bring(d)
			}
			if f == nil {
				give(j.outcome.Abort)
			}
		})
	case *remoteChildren:
		if d.Value != nil && d.Value == t.Value(i) {
			j.hand(d, func() { give(j.end) })
		}
	}
}

// Finished implements versions.Task.
func (p *parent) Finished(i int) { p.give(p.task, i) }

// give records that t, which the worker executes, has finished with operand i, and releases the
// tasks that waited for that operand only. Any goroutine may call it, once for each operand.
func (p *parent) give(t *graph.Task, i int) {
	if i < 0 || i >= t.Len() {
		panic(graph.ErrOperand)
	}
	if p.rt.severalMemories {
		t.UsedOperand(i, p.at.info.Location, p.fixed())
	}
	if x := t.Witness(); x != nil && !t.Given(i) {
		x.Finished(i)
	}
	j := jobOf(t)
	var room [8]*graph.Task
	freed := j.notifyWatches(p.at, j.submit.graph.Give(t, i, room[:0]))
	if len(freed) > 0 {
		p.rt.enqueue(freed)
	}
}

// settleChildren handles the children of t when its version has returned err. later says that the last
// child will end t; if wait is set, settleChildren waits for the children instead.
//
// If the version has failed, settleChildren cancels the children. If the children fail, the error is
// theirs. In both cases the task has failed, and may be retried as a whole.
func (p *parent) settleChildren(t *graph.Task, err error, wait bool) (later bool, _ error) {
	children := p.nested
	if children == nil {
		return false, err
	}
	if err != nil {
		p.cancelChildren(err)
		return false, err
	}
	if !wait && p.adopt(t, children) {
		p.nested = nil
		return true, nil
	}
	err = children.Wait()
	children.release()
	p.nested = nil
	return false, err
}

// cancelChildren cancels the children of a failed task and waits for those that run: they write data that
// the next attempt restores.
func (p *parent) cancelChildren(err error) {
	if p.nested == nil {
		return
	}
	p.nested.cancel(err)
	p.nested.Wait()
	p.nested.release()
	p.nested = nil
}

// adopt leaves the end of t to the last of its children. It returns false if all have ended
// already.
//
// The children get a copy of the attempt, and the worker's own is free for the next task. Memory
// and a team that the parent holds end with its version, not with its children.
func (p *parent) adopt(t *graph.Task, children childJob) bool {
	a := p.attempt // a copy: the worker goes on to other tasks
	return children.whenDone(func(err error) {
		a.learn(time.Since(a.start), err)
		freed, again := a.conclude(t, err, nil)
		if again {
			freed = append(freed, t)
		}
		p.rt.enqueue(freed)
	})
}
