package exec

import (
	"time"

	"github.com/tessera-la/tessera/exec/trace"
)

// share returns what all shares in the task that w executes have in common, if
// there is a recorder.
func (w *worker) share() (e trace.Event) {
	if w.record == nil || w.task == nil {
		return e
	}
	e = trace.Event{Job: w.doing.Job, Task: w.doing.Task, Op: w.doing.Op, Version: w.doing.Version}
	writes(&e, w.task)
	return e
}

// help is the work of a member of a gang or crew, recorded as its share in the
// task: from the first part that it takes to the end of its last one. One of a
// crew leaves when there is work of its own.
func (p *phase) help(w *worker) {
	if p.crew != nil {
		defer p.helpers.Add(-1)
		if p.helpers.Add(1) > p.limit {
			return
		}
	}
	i := p.take()
	if i >= p.parts { // it came too late
		return
	}
	if w.record != nil || p.crew != nil && p.crew.timed {
		// The part in hand keeps the phase open; this count goes on to do so until
		// the share is recorded, before the end of the task.
		p.unfinished.Add(1)
		defer p.shared(w, p.begin(w), time.Now()) // also when a part ends the goroutine
	}
	for ; i < p.parts; i = p.take() {
		p.run(int(i), &w.part)
		if p.crew != nil && w.rt.queued.Load() {
			return
		}
	}
}

// begin records that w has begun with its share, if there is a recorder.
func (p *phase) begin(w *worker) (e trace.Event) {
	if w.record != nil {
		e = p.share
		e.Worker = w.info.ID
		e.Start = w.running(trace.Running{Job: e.Job, Task: e.Task, Op: e.Op, Version: e.Version}, false)
	}
	return e
}

// shared records the share that e says the beginning of.
func (p *phase) shared(w *worker, e trace.Event, began time.Time) {
	if r := w.rt.opt.Recorder; w.record != nil {
		e.End = r.Now()
		r.Share(e)
	}
	if p.crew != nil {
		p.crew.worked.Add(int64(time.Since(began)))
	}
	p.less(1)
}
