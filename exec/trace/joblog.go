package trace

import "github.com/tessera-la/tessera/exec/graph"

// jobLog is what was noted of the tasks of a job.
type jobLog struct {
	job uint64
	log *graph.Log
}

// Follow returns a log for the graph of a job. Each Recording contains the edges that follow
// from the log, and with r.Graphs the tasks themselves. The edges are derived when a Recording
// is made, so that a recording costs the run next to nothing. Reset forgets what is in the log.
func (r *Recorder) Follow(job uint64) *graph.Log {
	l := &graph.Log{Whole: r.Graphs}
	l.Begun = func() { note(r, &r.logs, jobLog{job, l}) }
	return l
}

// AddLog adds the edges of a job to a recording, and its tasks if the log is Whole.
func (r *Recording) AddLog(job uint64, l *graph.Log) {
	l.Edges(func(on, task graph.TaskID, kind graph.Dependence, bytes int64) {
		r.Edges = append(r.Edges, Edge{Job: job, From: uint64(on), To: uint64(task), Kind: kind, Bytes: bytes})
	})
	if l.Whole {
		data, tasks := l.Program()
		r.Graphs = append(r.Graphs, Graph{job, data, tasks})
	}
}

// EventOf returns what a recording says of a task, but for where and when it ran. If the task
// writes several data, the event names the first: a trace shows by that which tile the task was
// about.
func EventOf(job uint64, t *graph.Task) Event {
	e := Event{Job: job, Task: uint64(t.ID()), Op: t.Op.OpName(), Submitted: t.Added(), Ready: t.ReadyAt()}
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.Out != 0 {
			e.Datum, e.I, e.J = o.Datum.Name, o.Datum.I, o.Datum.J
			break
		}
	}
	return e
}
