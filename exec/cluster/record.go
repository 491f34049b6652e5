package cluster

import (
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
)

// recording enters reports of nodes into Options.Trace, in the driver's time. Without a recorder
// its methods do nothing.
type recording struct {
	*trace.Recorder
	began time.Time     // when the driver's clock was 0
	rows  int           // number of rows so far; fleet.lock guards it
	jobs  atomic.Uint64 // number of jobs so far
}

// traceRows is a node in a recording: its first row, and the offset of its clock.
type traceRows struct {
	row, workers int
	offset       int64
}

// addRows gives a node a row for each worker, and returns the first.
func (x *recording) addRows(name string, workers int) (row int) {
	if x.Recorder == nil {
		return 0
	}
	row = x.rows
	x.rows += workers
	x.Node(trace.NodeRows{Name: name, First: row, Workers: workers})
	return row
}

// follow records the tasks and edges of a graph, and returns the number of the job.
func (x *recording) follow(g *graph.Graph) (job uint64) {
	r := x.Recorder
	if r == nil {
		return 0
	}
	job = x.jobs.Add(1)
	g.Clock, g.Log = r.Now, r.Follow(job)
	return job
}

// ready notes that a task has become ready.
func (x *recording) ready(t *graph.Task) {
	if x.Recorder != nil {
		t.SetReadyAt(x.Now())
	}
}

// when converts a time of a node's clock into the recorder's.
func (x *recording) when(at traceRows, t int64) time.Duration {
	return max(x.began.Sub(x.Began())+time.Duration(t+at.offset), 0)
}

// ended records the attempts of a task that a node has ended.
func (x *recording) ended(at traceRows, job uint64, t *graph.Task, e *end) {
	if x.Recorder == nil || e.Version == "" {
		return
	}
	put := func(a attempt, failed bool) {
		if a.Worker >= at.workers { // no such row
			return
		}
		v := trace.EventOf(job, t)
		v.Version, v.Worker, v.Start, v.Failed = a.Version, at.row+a.Worker, x.when(at, a.Began), failed
		v.End = v.Start + a.Took
		x.Sink(v.Worker)(v)
	}
	for _, a := range e.Before {
		put(a, true)
	}
	put(attempt{Version: e.Version, Took: e.Took, Worker: e.Worker, Began: e.Began}, e.Fault != nil)
}

// copied records a value that a node has fetched.
func (x *recording) copied(from, to traceRows, c *copied) {
	if x.Recorder != nil {
		start := x.when(to, c.Began)
		x.Copy(trace.Copy{Worker: to.row, Node: c.From, From: from.row, Bytes: c.Bytes, Start: start, End: start + c.Took})
	}
}
