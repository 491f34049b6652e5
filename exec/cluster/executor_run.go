package cluster

import (
	"errors"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// run executes tasks and reports their ends, unless the work has ended. It does not wait.
func (w *work) run(tasks []task) {
	w.mu.Lock()
	ended := w.ended
	if !ended {
		w.tasks.Add(len(tasks))
		w.unreported.Add(int64(len(tasks)))
	}
	w.mu.Unlock()
	if ended {
		return
	}
	operands := 0
	for i := range tasks {
		operands += len(tasks[i].Operands)
	}
	// Tasks that come together share an allocation: they end at about the same time.
	all, data := make([]execution, len(tasks)), make([]localDatum, operands)
	for i := range tasks {
		e, n := &all[i], len(tasks[i].Operands)
		e.w, e.task, e.data, data = w, &tasks[i], data[:0:n], data[n:]
		w.start(e)
	}
}

// start asks for the operands of a task. The last operand to come hands the task on.
func (w *work) start(e *execution) {
	if err := w.prepare(e); err != nil {
		w.reportEnd(end{ID: e.task.ID}, err)
		return
	}
	// Count one more, so that no operand is the last one before all have been asked for.
	e.missing.Store(int32(len(e.data)) + 1)
	here := int32(1)
	for i := range e.data {
		x := &e.data[i]
		o := x.operand
		reads, writes := x.mode&graph.In != 0, x.mode&graph.Out != 0
		if o.home != nil {
			x.Value = o.home.value
			w.store.bringHome(o.Ref, o.home, x.from, reads, true, e)
			continue
		}
		value, later, err := w.store.want(o, x.from, reads, writes, e)
		x.Value = value
		if err != nil {
			e.noteFailure(o.Ref, err)
		}
		if !later {
			here++
		}
	}
	e.waits = here <= int32(len(e.data))
	if e.waits {
		e.stageSince.Store(w.meter.change(1, 0))
	}
	e.countArrived(here)
}

// join notes that a task is a rank of a group.
func (w *work) join(e *execution) {
	e.member, e.stays = newMember(), true
	g := *e.task.Group
	g.Failed = e.member.failed
	e.spec.Local = &g
	w.grouped.Store(true)
	w.mu.Lock()
	if w.members == nil {
		w.members = map[uint64]*execution{}
	}
	w.members[e.task.ID] = e
	ended := w.ended
	w.mu.Unlock()
	if ended {
		e.member.order(false)
	}
}

// prepare makes the spec of the task for the runtime of the node. The error says which op or parameter the
// node does not know. A task that the driver gives to itself keeps what cannot be sent, such as a parameter
// with pointers, or packed operands.
func (w *work) prepare(e *execution) error {
	t := e.task
	e.spec = graph.Spec{Priority: t.Priority, Witness: e}
	if t.Op == core.OpNone {
		for _, o := range t.Operands {
			if o.Mode&graph.In == 0 || o.Mode > graph.InOut || o.Copy == nil && o.Mode != graph.In {
				return errors.New("a task without an op has operands that are no copies, and not for others to fetch")
			}
		}
	} else if s := t.spec; s != nil { // the driver gives it to itself
		e.spec.Op, e.spec.Params, e.spec.Local, e.spec.Constraints = s.Op, s.Params, s.Local, s.Constraints
	} else if err := w.parser.parse(w.known, t, &e.spec); err != nil {
		return err
	}
	if t.Group != nil {
		w.join(e)
	}
	// The task has no successors here: the driver decides what follows a failure.
	e.failure = graph.Failure{Retries: t.Retries, Timeout: t.Timeout, Then: graph.CancelSuccessors}
	e.spec.Failure, e.spec.Operands = &e.failure, e.few[:0]
	for i := range t.Operands {
		o := &t.Operands[i]
		k := 0
		for k < len(e.data) && e.data[k].operand.Ref != o.Ref {
			k++
		}
		if k == len(e.data) {
			e.data = e.data[:k+1]
			e.data[k].operand = o
			e.data[k].Key = graph.Key{Matrix: o.Ref.Matrix, I: o.Ref.I, J: o.Ref.J}
		}
		x := &e.data[k]
		x.mode |= o.Mode
		if len(x.from.From) == 0 {
			x.from = o.givers
		}
		e.spec.Operands = append(e.spec.Operands, graph.Operand{Datum: &x.Datum, Mode: o.Mode})
	}
	if t.Op == core.OpNone {
		return nil
	}
	return checkSpec(&e.spec)
}
