package exec

import "github.com/tessera-la/tessera/exec/trace"

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

// help is the work of a member, recorded as its share in the task: from the first
// part that it takes to the end of its last one.
func (p *phase) help(w *worker) {
	i := p.take()
	if i >= p.parts { // it came too late
		return
	}
	if w.record != nil {
		r := w.rt.opt.Recorder
		e := p.share
		e.Worker, e.Start = w.info.ID, r.Now()
		w.begin(trace.Running{Job: e.Job, Task: e.Task, Op: e.Op, Version: e.Version, Start: e.Start}, false)
		// The part in hand keeps the phase open; this count goes on to do so until
		// the share is recorded, before the end of the task.
		p.unfinished.Add(1)
		defer func() { // also when a part ends the goroutine
			e.End = r.Now()
			r.Share(e)
			p.less(1)
		}()
	}
	p.workFrom(i, &w.part)
}
