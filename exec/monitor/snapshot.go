package monitor

import (
	"fmt"
	"runtime/metrics"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
)

// most is the largest number of a worker's events in an answer: with short tasks, the page shows
// the latest of them, and an answer stays below some hundred kilobytes for each worker.
const most = 2000

// State is an answer of the server at /state: the tasks' present state, and the events that ended
// after the requested time. Times are microseconds from the recorder's start.
type State struct {
	Now      int64        `json:"now"`
	Counts   trace.Counts `json:"counts"`
	Workers  []Worker     `json:"workers"`
	Slices   []Slice      `json:"slices"` // worker by worker, each in the order of time
	Versions []Version    `json:"versions"`
	Memory   Memory       `json:"memory"`
	Activity Progress     `json:"activity"`
	Past     []Past       `json:"past"`    // the latest runs, the oldest first
	Samples  []Sample     `json:"samples"` // in the order of time
	// Cluster is nil if Options.Cluster is. Counts are its counts.
	Cluster *trace.Cluster `json:"cluster,omitempty"`
}

// Worker is a worker's present task. Since is its start, in microseconds from the recorder's start.
type Worker struct {
	Name    string `json:"name,omitempty"` // trace.Recorder.Name
	Busy    bool   `json:"busy"`
	Job     uint64 `json:"job,omitempty"`
	Task    uint64 `json:"task,omitempty"`
	Op      string `json:"op,omitempty"`
	Version string `json:"version,omitempty"`
	Since   int64  `json:"since,omitempty"`
}

// Slice is a finished attempt at a task. JSON names are short, as there are many. Times are
// microseconds, with fractions.
type Slice struct {
	Worker  int     `json:"w"`
	Job     uint64  `json:"j,omitempty"`
	Task    uint64  `json:"t,omitempty"` // 0 for a kernel called without a task
	Op      string  `json:"op"`
	Version string  `json:"v"`
	Writes  string  `json:"d,omitempty"` // the first datum that the task writes: "A(3,2)"
	Start   float64 `json:"s"`
	End     float64 `json:"e"`
	Failed  bool    `json:"failed,omitempty"`
}

// Version is the work of a version of an op since the start. Busy is microseconds, summed over
// workers.
type Version struct {
	Op      string  `json:"op"`
	Version string  `json:"version"`
	Calls   int     `json:"calls"`
	Failed  int     `json:"failed"`
	Busy    float64 `json:"busy"`
}

// Memory is the memory of the process, in bytes.
type Memory struct {
	Heap  uint64 `json:"heap"`  // objects in use or not yet swept
	Total uint64 `json:"total"` // mapped by the Go runtime
}

// snapshot returns the State, with events that ended after a time of the recorder's. Its parts are
// read one after the other while tasks go on, so they belong to about the same time. Lists are
// empty and not nil, as the page wants arrays.
func snapshot(r *trace.Recorder, after time.Duration, cluster func() trace.Cluster, does *activities,
	h *history) State {
	s := State{Now: r.Now().Microseconds(), Counts: r.Counts(), Workers: []Worker{}, Slices: []Slice{},
		Versions: []Version{}, Memory: memory()}
	if cluster != nil {
		c := cluster()
		s.Cluster, s.Counts = &c, c.Counts
	}
	s.Activity, s.Past = does.present(time.Duration(s.Now)*time.Microsecond, s.Counts)
	s.Samples = h.after(after)
	names := r.Names()
	for i, t := range r.Running() {
		w := Worker{Name: names[i]}
		if t != nil {
			w.Busy, w.Job, w.Task, w.Op, w.Version, w.Since = true, t.Job, t.Task, t.Op, t.Version,
				t.Start.Microseconds()
		}
		s.Workers = append(s.Workers, w)
	}
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	for _, e := range r.After(after, most) {
		s.Slices = append(s.Slices, Slice{e.Worker, e.Job, e.Task, e.Op, e.Version, writes(&e), us(e.Start), us(e.End),
			e.Failed})
	}
	for _, u := range r.Totals() {
		s.Versions = append(s.Versions, Version{u.Op, u.Version, u.Calls, u.Failed, us(u.Busy)})
	}
	return s
}

// writes names the datum of an event.
func writes(e *trace.Event) string {
	if e.Datum == "" {
		return ""
	}
	return fmt.Sprintf("%s(%d,%d)", e.Datum, e.I, e.J)
}

// memory asks the Go runtime, without stopping it.
func memory() Memory {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(samples)
	var m Memory
	for i, to := range []*uint64{&m.Heap, &m.Total} {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			*to = samples[i].Value.Uint64()
		}
	}
	return m
}
