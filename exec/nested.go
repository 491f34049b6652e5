package exec

import (
	"errors"
	"runtime/debug"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

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
// Reference: "Hierarchical management of extreme-scale task-based applications"
// (Lordan et al., 2023).
func Nested(call *versions.Call) (Children, error) {
	w, ok := call.Task.(*worker)
	if !ok {
		return Children{}, ErrNoTask
	}
	if w.nested == nil {
		w.nested = newJob(w.rt, call.Ctx)
		w.nested.parent, w.nested.adopter = w, jobOf(w.task)
	}
	return Children{w.nested}, nil
}

// Children is the job of a task's children.
type Children struct{ *job }

// Hand hands operand i of the parent on, as [versions.Call.Finished] does, as
// soon as the version of d that the latest task submitted so far makes is
// there, but at the end of the parent if d is renamed. The children submitted later
// must not touch what the operand stands for. If the version cannot be made, the parent fails and with it the operand.
//
// It panics with graph.ErrOperand or graph.ErrGiven if the parent has no operand i
// or has finished with it. An operand that is handed on twice makes the parent fail.
func (j Children) Hand(d *graph.Datum, i int) {
	t, w := j.parent.task, j.parent
	if i < 0 || i >= t.Len() {
		panic(graph.ErrOperand)
	}
	if t.Given(i) {
		panic(graph.ErrGiven)
	}
	if d.Renamed() {
		return // others may still read the value into which the latest is copied
	}
	j.watch(d, func(f *graph.Fault) {
		if f == nil {
			f = j.rt.bring(d)
		}
		if f != nil {
			return
		}
		defer func() {
			if v := recover(); v != nil { // given meanwhile
				j.abort(&PanicError{Value: v, Stack: debug.Stack()})
			}
		}()
		w.give(t, i)
	})
}

// Finished implements versions.Task.
func (w *worker) Finished(i int) { w.give(w.task, i) }

// give records that t, which w executes, has finished with operand i.
func (w *worker) give(t *graph.Task, i int) {
	if i < 0 || i >= t.Len() {
		panic(graph.ErrOperand)
	}
	if w.rt.far {
		t.UsedOperand(i, w.info.Location, w.fixed())
	}
	j := jobOf(t)
	var room [8]*graph.Task
	freed := j.arrived(&w.site, j.submit.graph.Give(t, i, room[:0]))
	if len(freed) > 0 {
		w.rt.enqueue(freed)
	}
}

// family does what is to be done about the children of t when its version has
// returned err. Later means that the last of them will end t. With wait set it
// waits for them.
func (w *worker) family(t *graph.Task, err error, wait bool) (later bool, _ error) {
	children := w.nested
	if children == nil {
		return false, err
	}
	if err != nil {
		w.disown(err)
		return false, err
	}
	if !wait && w.adopt(t, children) {
		w.nested = nil
		return true, nil
	}
	err = children.Wait()
	w.nested = nil
	return false, err
}

// disown cancels the children of a task that has failed, and waits for those
// that run.
func (w *worker) disown(err error) {
	if w.nested == nil {
		return
	}
	w.nested.abort(err)
	w.nested.Wait()
	w.nested = nil
}

// adopt leaves the end of t to the last of its children. It returns false if all
// of them have ended already.
func (w *worker) adopt(t *graph.Task, children *job) bool {
	a := w.attempt // w goes on to others
	return children.whenDrained(func() {
		err := children.Wait() // all have ended: it tidies up
		a.learn(t, time.Since(a.start), err)
		freed, again := a.conclude(t, err, nil)
		if again {
			freed = append(freed, t)
		}
		w.rt.enqueue(freed)
	})
}

// whenDrained has f called when all tasks submitted so far have ended, by the
// worker that ends the last one. It returns false, and f is not called, if they
// have.
func (j *job) whenDrained(f func()) bool {
	j.submit.Lock()
	j.submit.graph.Seal()
	j.rests()
	goal := j.submit.count
	j.submit.Unlock()
	j.news.Lock()
	defer j.news.Unlock()
	if goal < j.goal.Load() {
		j.goal.Store(goal)
	}
	if j.done.Load() >= goal {
		return false
	}
	j.news.drained, j.news.drainGoal = f, goal
	return true
}
