package exec

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// parent is an attempt on cores as the version sees it, by [versions.Call].Task: it may
// finish with operands, have children, and wait without holding up its cores.
type parent struct {
	attempt
	seat   *seat          // of the worker
	nested brood          // the children; nil as long as there are none
	yields func(f func()) // calls f while others have the cores: see worker.yield
}

// Await calls f, which waits for something, in a task, and lends the cores of
// the worker that executes call to others until it returns. So any number of
// tasks may wait without holding up the machine, at the cost of a thread each.
// The members of a team must not call it. Outside of a runtime it only calls f.
//
// A job of [Nested] does the same while it waits.
func Await(call *versions.Call, f func()) {
	if w, ok := call.Task.(*parent); ok {
		w.yields(f)
		return
	}
	f()
}

// ErrNoTask is returned by [Nested] for a call that no runtime made.
var ErrNoTask = errors.New("exec: the call belongs to no task")

// Nested returns the job of the children of the task that call executes. It
// makes the job at the first call. Children are tasks like others, on data of
// their own — for example on the parts of the parent's tile — and run on the
// workers of the same runtime, in the order that their data ask for. They may
// have children in turn.
//
// The parent ends when they have ended: if Run returns nil before, its worker
// goes on to other tasks, and the last child ends the parent. An error of the
// children is the parent's. [Job.Wait], [Job.WaitOn] and a [Job.Submit] that
// waits for room lend the parent's cores to others, as [Await] does; only the
// goroutine of Run may call them. [Children.Hand] passes the parent's operands on as
// children make them. Data of children may be renamed: when they have ended, the
// latest value is copied into the first one, a versions.Value, which the parent knows.
//
// The error is ErrNoTask outside of tasks: then the version must do the work by
// itself.
//
// On a node of a cluster that has others below it, children run on these, too: see
// [Domain]. Then they are as large as tasks that are sent, and what they use can be sent;
// [NestedHere] has smaller ones stay.
//
// Reference: "Hierarchical management of extreme-scale task-based applications"
// (Lordan et al., 2023).
func Nested(call *versions.Call) (Children, error) { return nest(call, true) }

// NestedHere is [Nested] for children that had better stay in this process: because they are
// short, or use what others have not got. If the task has children already, it returns their
// job as it is.
func NestedHere(call *versions.Call) (Children, error) { return nest(call, false) }

// nest returns the job of the children, which may be a domain's if they may go far.
func nest(call *versions.Call, far bool) (Children, error) {
	p, ok := call.Task.(*parent)
	if !ok {
		return Children{}, ErrNoTask
	}
	if d, ok := p.task.Witness().(Domain); ok && far && p.nested == nil {
		ctx, cancel := context.WithCancelCause(call.Ctx)
		if in, window := d.Children(ctx); in != nil {
			p.nested = &away{Job: in, window: window, end: cancel, lending: p.waits}
		} else {
			cancel(nil)
		}
	}
	if p.nested == nil {
		j := jobOf(p.task)
		children := newJob(p.rt, j.among, call.Ctx)
		children.adopter, children.lending = j, p.waits
		p.nested = children
	}
	return Children{p.nested, p}, nil
}

// waits calls f, which waits for children, and lends the parent's cores to them
// meanwhile.
func (p *parent) waits(f func()) {
	if p.dog != nil {
		defer p.dog.excuse(p.watched)()
	}
	p.yields(f)
}

// Children is the job of a task's children.
type Children struct {
	Job
	of *parent
}

// Hand hands operand i of the parent on, as [versions.Call.Finished] does, as
// soon as the version of d that the latest task submitted so far makes is
// there, but at the end of the parent if d is renamed, or children are with other nodes:
// what is lost with one of these may have to be made again from the operand. The children submitted later
// must not touch what the operand stands for. If the version cannot be
// made, the parent fails and with it the operand.
//
// It panics with graph.ErrOperand or graph.ErrGiven if the parent has no operand i
// or has finished with it. An operand that is handed on twice makes the parent fail.
func (c Children) Hand(d *graph.Datum, i int) {
	t := c.of.task
	if i < 0 || i >= t.Len() {
		panic(graph.ErrOperand)
	}
	if t.Given(i) {
		panic(graph.ErrGiven)
	}
	// The parent's end hands on all operands that have not been handed on before.
	j, here := c.Job.(*job)
	if !here || d.Renamed() {
		return // others may still read the value into which the latest is copied
	}
	j.watch(d, func(f *graph.Fault) {
		if f == nil {
			f = j.sched.devices.Bring(d)
		}
		if f != nil {
			return
		}
		defer func() {
			if v := recover(); v != nil { // given meanwhile
				j.outcome.Abort(&PanicError{Value: v, Stack: debug.Stack()})
			}
		}()
		c.of.give(t, i)
	})
}

// Finished implements versions.Task.
func (p *parent) Finished(i int) { p.give(p.task, i) }

// give records that t, which the worker executes, has finished with operand i, and hands
// on what waited for that operand only. Any goroutine may call it, once for an operand.
func (p *parent) give(t *graph.Task, i int) {
	if i < 0 || i >= t.Len() {
		panic(graph.ErrOperand)
	}
	if p.rt.far {
		t.UsedOperand(i, p.at.info.Location, p.fixed())
	}
	if x := t.Witness(); x != nil && !t.Given(i) {
		x.Finished(i)
	}
	j := jobOf(t)
	var room [8]*graph.Task
	freed := j.arrived(p.at, j.submit.graph.Give(t, i, room[:0]))
	if len(freed) > 0 {
		p.rt.enqueue(freed)
	}
}

// family does what is to be done about the children of t when its version has
// returned err. Later means that the last of them will end t. With wait set it
// waits for them.
//
// The error of a version cancels its children, and that of the children is the
// version's: the task has failed either way, and may be tried again as a whole.
func (p *parent) family(t *graph.Task, err error, wait bool) (later bool, _ error) {
	children := p.nested
	if children == nil {
		return false, err
	}
	if err != nil {
		p.disown(err)
		return false, err
	}
	if !wait && p.adopt(t, children) {
		p.nested = nil
		return true, nil
	}
	err = children.Wait()
	children.over()
	p.nested = nil
	return false, err
}

// disown cancels the children of a task that has failed, and waits for those
// that run: they work on what the next attempt restores.
func (p *parent) disown(err error) {
	if p.nested == nil {
		return
	}
	p.nested.cancel(err)
	p.nested.Wait()
	p.nested.over()
	p.nested = nil
}

// adopt leaves the end of t to the last of its children. It returns false if all
// of them have ended already.
//
// The attempt goes with the children, as a copy; the worker's own is free for the next
// task. What the parent has lent or holds beyond the attempt, memory and a team, ends
// with its version and not with its children.
func (p *parent) adopt(t *graph.Task, children brood) bool {
	a := p.attempt // the worker goes on to others
	return children.left(func(err error) {
		a.learn(time.Since(a.start), err)
		freed, again := a.conclude(t, err, nil)
		if again {
			freed = append(freed, t)
		}
		p.rt.enqueue(freed)
	})
}
