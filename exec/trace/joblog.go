package trace

import "github.com/tessera-la/tessera/exec/graph"

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

// EventOf returns the Event of a task without its version, worker, start and end. If the task
// writes several data, the event names the first, so that a trace shows the task's tile.
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
