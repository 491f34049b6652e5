package cluster

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// giveBack gives back to the driver the first few tasks that are still at the gate.
func (w *work) giveBack(ids []uint64, most int) {
	for _, e := range w.gate.TakeBack(w.number, ids, most) {
		w.meter.change(0, -1)
		w.reportLast(end{ID: e.task.ID, Returned: true})
	}
	w.report(end{Returned: true})
}

// obey has a rank of a group do what the driver says. Otherwise it has ended.
func (x *executor) obey(o order) {
	x.mu.Lock()
	var e *execution
	if w := x.jobs[o.Job]; w != nil {
		e = w.members[o.Task]
	}
	x.mu.Unlock()
	if e != nil {
		e.obey(o.Begin)
	}
}

// obey begins the rank, or stops it.
func (e *execution) obey(begin bool) {
	switch waited := e.member.order(begin); {
	case waited && begin:
		beginAll([]*execution{e}, e.w.meter.clock(time.Now()))
	case waited:
		e.giveBack()
	}
}

// endJob ends the work for a job and drops its data. The number may also be that of a set of kept
// data, which has no work.
func (x *executor) endJob(job uint64) {
	x.mu.Lock()
	w := x.jobs[job]
	x.mu.Unlock()
	if w != nil {
		w.shutDown(context.Canceled)
	}
	x.store.forget(job)
}

// shutDown ends the work: it cancels what has not started and waits for what runs. It may be called
// more than once.
func (w *work) shutDown(cause error) {
	w.endOnce.Do(func() { // a second caller waits for the first
		w.mu.Lock()
		w.ended = true
		members := slices.Collect(maps.Values(w.members))
		w.mu.Unlock()
		w.cancel(cause)
		for _, e := range members {
			e.obey(false)
		}
		w.tasks.Wait()
		_ = w.job.Wait() // the error was reported with the tasks
		if d := w.delegated(); d != nil {
			d.end()
		}
		w.mu.Lock()
		delete(w.jobs, w.number)
		w.mu.Unlock()
	})
}

// stop cancels what has not started. No work begins after it.
func (x *executor) stop(cause error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	for _, w := range x.jobs {
		w.ended = true
		w.cancel(cause)
	}
}

// close ends all work and then drops all data, since tasks of one job may use data of another. It stops all
// jobs before it waits for the first: a task of one job may occupy workers that a task of another job waits
// for.
func (x *executor) close(cause error) {
	x.stop(cause)
	x.mu.Lock()
	all := slices.Collect(maps.Values(x.jobs))
	x.mu.Unlock()
	for _, w := range all {
		w.shutDown(cause)
	}
	x.store.close()
}

// withdrawn notes that a version on this node is about to be overwritten or dropped.
func (x *executor) withdrawn(r transport.Ref) {
	x.mu.Lock()
	var all []*work
	for _, w := range x.jobs {
		all = append(all, w)
	}
	x.mu.Unlock()
	for _, w := range all {
		if d := w.delegated(); d != nil {
			d.withdrawn(r)
		}
	}
}
