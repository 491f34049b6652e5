package exec

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
)

// edgeLog returns a log from which r takes the edges of a job.
//
// While tasks are submitted the log only notes which data they use. The edges that follow
// are derived when somebody asks the recorder for them, so a recording costs the run next
// to nothing.
func edgeLog(r *trace.Recorder, job uint64) *graph.Log {
	l := &graph.Log{}
	edges := func(yield func(trace.Edge)) {
		l.Edges(func(on, task graph.TaskID, kind graph.Dependence, bytes int64) {
			yield(trace.Edge{Job: job, From: uint64(on), To: uint64(task), Kind: trace.Dependence(kind), Bytes: bytes})
		})
	}
	s := trace.Source{Edges: edges, Forget: l.Forget}
	if l.Whole = r.Graphs; l.Whole {
		s.Graph = func() trace.Graph { return GraphOf(l, job) }
	}
	l.Begun = func() { r.Derive(s) }
	return l
}

// GraphOf returns what a log that is Whole has of a job, for a recording.
func GraphOf(l *graph.Log, job uint64) trace.Graph {
	data, tasks := l.Program()
	g := trace.Graph{Job: job}
	for _, d := range data {
		g.Data = append(g.Data, trace.GraphDatum{Name: d.Name, Matrix: d.Matrix, I: d.I, J: d.J, Owner: d.Owner, Bytes: d.Bytes, Renamed: d.Renamed})
	}
	for _, t := range tasks {
		x := trace.GraphTask{Task: uint64(t.Task), Priority: t.Priority}
		for _, o := range t.Operands {
			x.Data, x.Modes = append(x.Data, o.Datum), append(x.Modes, uint8(o.Mode))
		}
		g.Tasks = append(g.Tasks, x)
	}
	return g
}

// recordPause records, if there is a recorder, that the submission of a job stands still
// until the function that it returns is called: the window is full. A trace shows by that
// whether workers were idle for want of tasks that were not submitted yet.
func recordPause(r *trace.Recorder, job uint64) (resume func()) {
	if r == nil {
		return func() {}
	}
	start := r.Now()
	return func() { r.Pause(trace.Pause{Job: job, Start: start, End: r.Now()}) }
}

// EventOf returns what a recording says of a task, but for where and when it ran. Of several
// data that the task writes it names the first: by that a trace names the tile that the task was
// about.
func EventOf(job uint64, t *graph.Task) trace.Event {
	e := trace.Event{Job: job, Task: uint64(t.ID()), Op: t.Op.OpName(), Submitted: t.Added(), Ready: t.ReadyAt()}
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.Out != 0 {
			e.Datum, e.I, e.J = o.Datum.Name, o.Datum.I, o.Datum.J
			break
		}
	}
	return e
}
