package sim

import (
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
)

// duration returns a virtual time as recordings have it.
func duration(seconds float64) time.Duration { return time.Duration(seconds * 1e9) }

// follow notes the accesses of a job's tasks.
func (r *recorder) follow(j *job) {
	l := &graph.Log{Whole: true}
	j.graph.Log = l
	j.graph.Clock = func() time.Duration { return duration(j.w.now) }
	r.logs = append(r.logs, jobLog{j.id, l})
}

// ended records a task.
func (r *recorder) ended(j *job, t *graph.Task, version string, worker int, start, end float64) {
	e := trace.EventOf(j.id, t)
	e.Version, e.Worker, e.Start, e.End = version, worker, duration(start), duration(end)
	r.events = append(r.events, e)
}

// Recording returns the recording so far.
func (w *world) Recording() *trace.Recording {
	rec := &trace.Recording{Workers: len(w.workers)}
	if w.rec == nil {
		return rec
	}
	rec.Events, rec.Pauses, rec.Copies = w.rec.events, w.rec.pauses, w.rec.copies
	for _, worker := range w.workers {
		if worker.Accelerator != "" {
			if rec.Names == nil {
				rec.Names = map[int]string{}
			}
			rec.Names[worker.ID] = worker.Accelerator
		}
	}
	for _, l := range w.rec.logs {
		rec.AddLog(l.job, l.log)
	}
	return rec
}
