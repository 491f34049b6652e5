package trace

import (
	"cmp"
	"slices"
	"time"
)

// Recording is what a [Recorder] has collected: plain data that the functions
// of this package condense and write, whoever made it.
type Recording struct {
	Began   time.Time // the time from which all others count
	Workers int       // workers 0 to Workers-1 may have events
	Events  []Event
	Edges   []Edge // empty unless Recorder.Dependencies was set
	Pauses  []Pause
}

// taskKey identifies a task.
type taskKey struct{ job, task uint64 }

func (e *Event) key() taskKey { return taskKey{e.Job, e.Task} }

// span returns the first start and the last end.
func (r *Recording) span() (first, last time.Duration) {
	for i := range r.Events {
		e := &r.Events[i]
		if i == 0 || e.Start < first {
			first = e.Start
		}
		last = max(last, e.End)
	}
	return first, last
}

// byTask returns the last attempt at each task that belongs to a job, in the
// order of jobs and tasks.
func (r *Recording) byTask() []Event {
	events := make([]Event, 0, len(r.Events))
	for _, e := range r.Events {
		if e.Task != 0 {
			events = append(events, e)
		}
	}
	slices.SortFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Task, b.Task), cmp.Compare(b.Start, a.Start))
	})
	return slices.CompactFunc(events, func(a, b Event) bool { return a.key() == b.key() })
}

// byTime returns the events in the order of their starts.
func (r *Recording) byTime() []Event {
	events := slices.Clone(r.Events)
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Worker, b.Worker))
	})
	return events
}

// workers returns the number of workers, at least those that have events.
func (r *Recording) workers() int {
	n := r.Workers
	for i := range r.Events {
		n = max(n, r.Events[i].Worker+1)
	}
	return n
}
