package exec

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
)

// observers passes on what a graph tells to several.
type observers []graph.Observer

// Depends makes observers a graph.Observer.
func (o observers) Depends(on, task graph.TaskID, kind graph.Dependence, d *graph.Datum, v uint32) {
	for _, x := range o {
		x.Depends(on, task, kind, d, v)
	}
}

// one returns o as one observer, nil if there is none.
func (o observers) one() graph.Observer {
	switch len(o) {
	case 0:
		return nil
	case 1:
		return o[0]
	}
	return o
}

// edgeRecorder puts the edges of a job into a recorder.
type edgeRecorder struct {
	r   *trace.Recorder
	job uint64
}

// Depends makes edgeRecorder a graph.Observer.
func (e edgeRecorder) Depends(on, task graph.TaskID, kind graph.Dependence, _ *graph.Datum, _ uint32) {
	e.r.Depend(trace.Edge{Job: e.job, From: uint64(on), To: uint64(task), Kind: trace.Dependence(kind)})
}

// pause records that the submission of a job stands still until the function
// that it returns is called.
func (l *Local) pause(job uint64) (resume func()) {
	r := l.opt.Recorder
	if r == nil {
		return func() {}
	}
	start := r.Now()
	return func() { r.Pause(trace.Pause{Job: job, Start: start, End: r.Now()}) }
}

// writes puts into e what t writes, the first datum of several.
func writes(e *trace.Event, t *graph.Task) {
	for i := range t.Len() {
		if o := t.Operand(i); o.Mode&graph.Out != 0 {
			e.Datum, e.I, e.J = o.Datum.Name, o.Datum.I, o.Datum.J
			return
		}
	}
}
