package cluster

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// got implements [waiter]: an operand is there, or could not be fetched.
func (e *execution) got(c arrival, err error) {
	if err != nil {
		e.noteFailure(c.Ref, err)
	} else if c.From != "" && e.w.story.Load() {
		e.mu.Lock()
		e.report.Fetched = append(e.report.Fetched, c)
		e.mu.Unlock()
	}
	e.countArrived(1)
}

// noteFailure notes why an operand could not be fetched.
func (e *execution) noteFailure(r transport.Ref, err error) {
	if unfit := (*valueError)(nil); errors.As(err, &unfit) {
		e.failed.CompareAndSwap(nil, &err)
		return
	}
	e.mu.Lock()
	e.report.Missing, e.report.Why = append(e.report.Missing, missingFrom(r, err)), err.Error()
	e.mu.Unlock()
}

// countArrived counts operands that have arrived. With the last one the task goes to the gate. A task without
// an op only copies operands, and begins at once: it needs no worker, and tasks of other nodes may wait for
// the copies.
func (e *execution) countArrived(n int32) {
	if e.missing.Add(-n) > 0 {
		return
	}
	waited := 0
	if e.waits {
		waited = 1
	}
	if p := e.failed.Load(); p != nil {
		e.w.meter.change(-waited, 0)
		e.end(*p)
		return
	}
	if len(e.report.Missing) > 0 {
		e.w.meter.change(-waited, 0)
		e.report.ID = e.task.ID
		e.w.reportLast(e.report)
		return
	}
	e.enter(waited)
}

// enter begins a task whose operands are there, delegates it, or makes it wait at the gate. waited is 1 if the
// meter counts the task among those that wait for operands.
func (e *execution) enter(waited int) {
	if e.task.Op == core.OpNone {
		e.stageSince.Store(e.w.meter.change(-waited, 1))
		e.begin()
		return
	}
	x := core.Gated[*execution]{
		Task: e, Priority: e.task.Priority, Job: e.w.number, ID: e.task.ID,
		Width: min(core.WidthOf(e.spec.Op, e.spec.Constraints), e.w.meter.workers),
	}
	if e.member != nil {
		x.Priority = math.MaxInt64 // other nodes wait for it
	}
	if to := e.chooseBelow(); to != nil {
		e.stageSince.Store(e.w.meter.change(-waited, 0))
		e.w.gate.PutAside(x)
		e.delegate(to)
		return
	}
	e.stageSince.Store(e.w.meter.change(-waited, 1))
	if e.w.gate.Enter(x) {
		e.begin()
	}
}

// begin hands the task to the node's runtime. A rank of a group first waits for an order: it keeps its place at the
// gate, and no worker.
func (e *execution) begin() {
	if e.member != nil {
		if begins, waits := e.member.arrive(); waits {
			e.w.report(end{ID: e.task.ID, Arrived: e.task.Group.Number})
			return
		} else if !begins {
			e.giveBack()
			return
		}
	}
	for i := range e.data {
		x := &e.data[i]
		x.Bytes = bytesOf(x.Value)
	}
	e.beginWrites()
	if e.task.Op == core.OpNone {
		e.Ended(nil)
		return
	}
	e.shareDerived()
	if err := exec.RunReady(e.w.job, &e.spec); err != nil {
		e.Ended(cmp.Or(context.Cause(e.w.ctx), err)) // err may be the failure of another task
	}
}

// beginWrites ends the versions that the task is about to overwrite.
func (e *execution) beginWrites() {
	for i := range e.data {
		if x := &e.data[i]; x.mode&graph.Out != 0 && !e.wrote {
			e.w.store.beginWrite(x.operand.Ref)
		}
	}
	e.wrote = true
}

// shareDerived gives the task the data that its op derives from operands, such as packed operands. Other tasks
// share them.
func (e *execution) shareDerived() {
	op, ok := e.spec.Op.(*versions.Op)
	if !ok || op.Derive == nil || slices.ContainsFunc(e.task.Operands, func(o operand) bool { return o.home != nil }) {
		return
	}
	args := make([]any, len(e.spec.Operands))
	for i, o := range e.spec.Operands {
		args[i] = o.Datum.Value
	}
	e.spec.Local = op.Derive(args, func(operand, role int, fresh func() versions.Derived) versions.Derived {
		return e.w.store.derive(e.task.Operands[operand].Ref, role, fresh)
	})
}

// Finished implements [graph.Witness]: other nodes can fetch the operand while the task goes on.
func (e *execution) Finished(i int) {
	for k := range e.data {
		x := &e.data[k]
		if x.operand.Ref != e.task.Operands[i].Ref {
			continue
		}
		x.released = true
		if x.mode&graph.Out != 0 {
			e.w.store.endWrite(x.operand.Ref)
		}
	}
	e.w.report(end{ID: e.task.ID, Released: []int{i}})
}

// Ended implements [graph.Witness]. It publishes the versions that the task has written. A failed
// task makes versions, too, because its failure policy may be to go on.
func (e *execution) Ended(err error) {
	for i := range e.data {
		if x := &e.data[i]; x.mode&graph.Out != 0 && !x.released {
			e.w.store.endWrite(x.operand.Ref)
		}
	}
	if d := e.w.lower; d != nil && e.below == nil && err == nil && e.task.Op != core.OpNone {
		e.mu.Lock()
		took := e.report.Took
		e.mu.Unlock()
		d.learn(e.task.Op, false, took)
	}
	e.leaveGate(err)
}

// Children implements [exec.Domain]. A task with children on other nodes only waits. It gives up
// its place at the gate, which even a child of its own may need.
func (e *execution) Children(ctx context.Context) (in exec.Job, window int) {
	if e.w.lower == nil {
		return nil, 0
	}
	e.w.lower.learn(e.task.Op, true, 0)
	if in, window = e.w.lower.children(ctx); in == nil || e.aside {
		return in, window
	}
	e.aside = true
	now := e.w.meter.change(0, -1)
	beginAll(e.w.gate.StepAside(e, nil), now)
	return in, window
}

// leaveGate reports the end of a task that has begun, and lets others begin.
func (e *execution) leaveGate(err error) {
	runs := 1
	if e.aside {
		runs = 0
	}
	now := e.w.meter.change(0, -runs)
	beginAll(e.w.gate.Leave(e, e.w.meter.began.Add(time.Duration(now)), nil), now)
	e.end(err)
}

// giveBack gives back a rank of a group that has not begun, or ends it with its job.
func (e *execution) giveBack() {
	if err := e.w.ctx.Err(); err != nil {
		e.leaveGate(context.Cause(e.w.ctx))
		return
	}
	now := e.w.meter.change(0, -1)
	beginAll(e.w.gate.Leave(e, e.w.meter.began.Add(time.Duration(now)), nil), now)
	e.w.reportLast(end{ID: e.task.ID, Returned: true})
}

// beginAll begins tasks on a new goroutine. The caller may be a worker, and a task that overwrites
// a version waits for its readers.
func beginAll(all []*execution, now int64) {
	if len(all) == 0 {
		return
	}
	go func() {
		for _, e := range all {
			e.stageSince.Store(now)
			e.begin()
		}
	}()
}

// chooseBelow returns the job's delegate if nodes below are to execute a task, whose operands are there. The task
// then counts as theirs.
func (e *execution) chooseBelow() delegate {
	d := e.w.lower
	if d == nil || e.stays || e.task.Op == core.OpNone {
		return nil
	}
	var writes int64
	for i := range e.data {
		x := &e.data[i]
		if !e.w.known.canSend(core.FactsOf(x.Value).Kind) {
			return nil
		}
		if x.mode&graph.Out != 0 {
			writes += bytesOf(x.Value)
		}
	}
	if !d.admit(e.task.Op, writes) {
		return nil
	}
	if to := e.w.below(); to != nil && to.fits(e) {
		return to
	}
	d.leave()
	return nil
}

// below returns the job's delegate, nil if no nodes are below this one.
func (w *work) below() delegate {
	w.delegating.Lock()
	defer w.delegating.Unlock()
	if w.toBelow == nil {
		w.toBelow = w.lower.delegate(w)
	}
	return w.toBelow
}

// delegate gives a task that is aside at the gate to nodes below.
func (e *execution) delegate(to delegate) {
	e.below, e.aside = to, true
	if err := to.run(e); err != nil {
		e.settle(false)
	}
}

// delegateMore delegates tasks that wait at the gate, the most urgent first.
func (x *executor) delegateMore() {
	_, waiting := x.gate.Tasks()
	for i := len(waiting) - 1; i >= 0; i-- {
		e := waiting[i]
		to := e.chooseBelow()
		if to == nil {
			continue
		}
		if !x.gate.Divert(e) { // it has begun
			x.lower.leave()
			continue
		}
		e.stageSince.Store(x.meter.change(0, -1))
		e.delegate(to)
	}
}

// settle implements [settler]. A task that no node below has executed runs on this node.
func (e *execution) settle(done bool) {
	e.mu.Lock()
	failed := e.report.Fault != nil
	e.mu.Unlock()
	done = done && (failed || e.below.bring(e))
	if !done || failed {
		e.below.takeBack(e)
	}
	e.w.lower.leave()
	x := e.w.executor
	if done {
		e.Ended(nil) // with its fault, if it has failed
	} else {
		beginAll(x.gate.Leave(e, time.Now(), nil), x.meter.clock(time.Now()))
		e.stays, e.aside, e.below = true, false, nil
		e.enter(0)
	}
	x.delegateMore()
}
