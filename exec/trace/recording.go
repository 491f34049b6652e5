package trace

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Recording is the data of a [Recorder]: plain data that the functions of this package summarize
// and write, whatever made it.
type Recording struct {
	Began   time.Time // the time from which all others count
	Workers int       // workers 0 to Workers-1 may have events
	Events  []Event
	// Shares are the work of members of gangs for attempts of Events that other workers lead: one
	// for each time that a member took parts of the task, with the attempt's job, task, op and
	// version. They have no times of submission and are no attempts.
	Shares []Event
	Edges  []Edge // empty unless Recorder.Dependencies was set
	Pauses []Pause
	Graphs []Graph // empty unless Recorder.Graphs was set
	// Copies are the copies between the host and accelerators, and between nodes. Waits are the
	// times in which workers on cores waited for some.
	Copies []Copy
	Waits  []Wait
	Names  map[int]string // names of workers: of accelerators, and of nodes' workers
	Nodes  []NodeRows     // of a cluster; nil: one node
}

// taskKey identifies a task.
type taskKey struct{ job, task uint64 }

func (e *Event) key() taskKey { return taskKey{e.Job, e.Task} }

// all yields the events and then the shares.
func (r *Recording) all() iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		for _, events := range [][]Event{r.Events, r.Shares} {
			for i := range events {
				if !yield(&events[i]) {
					return
				}
			}
		}
	}
}

// span returns the first start and the last end, both 0 for a recording without events.
func (r *Recording) span() (first, last time.Duration) {
	any := false
	for e := range r.all() {
		if !any || e.Start < first {
			first = e.Start
		}
		any, last = true, max(last, e.End)
	}
	return first, last
}

// byTask returns the last attempt at each task of a job, in the order of jobs and tasks. It leaves
// out work outside jobs, with the task number 0, which has no edges.
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

// lastAttempts returns the events of byTask by their tasks.
func (r *Recording) lastAttempts() map[taskKey]Event {
	tasks := make(map[taskKey]Event, len(r.Events))
	for _, e := range r.byTask() {
		tasks[e.key()] = e
	}
	return tasks
}

// occupation is an event or a share.
type occupation struct {
	Event
	share bool
}

// byTime returns the events and the shares in the order of their starts.
func (r *Recording) byTime() []occupation {
	all := make([]occupation, 0, len(r.Events)+len(r.Shares))
	for _, e := range r.Events {
		all = append(all, occupation{e, false})
	}
	for _, e := range r.Shares {
		all = append(all, occupation{e, true})
	}
	slices.SortStableFunc(all, func(a, b occupation) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Worker, b.Worker))
	})
	return all
}

// workers returns the number of workers, including all that have events.
func (r *Recording) workers() int {
	n := r.Workers
	for e := range r.all() {
		n = max(n, e.Worker+1)
	}
	for i := range r.Copies {
		n = max(n, r.Copies[i].Worker+1, r.Copies[i].From+1)
	}
	for i := range r.Waits {
		n = max(n, r.Waits[i].Worker+1)
	}
	return n
}
