package trace

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// Recording is what a [Recorder] has collected: plain data that the functions
// of this package condense and write, however it was made.
type Recording struct {
	Began   time.Time // the time from which all others count
	Workers int       // workers 0 to Workers-1 may have events
	Events  []Event
	// Shares are what members of gangs have done for the attempts of Events that
	// other workers lead: one for each time that a member took parts of the task,
	// with the job, the task, the op and the version of the attempt. They have no
	// times of submission and are no attempts.
	Shares []Event
	Edges  []Edge // empty unless Recorder.Dependencies was set
	Pauses []Pause
	Graphs []Graph // empty unless Recorder.Graphs was set
	// Copies are those between the host and accelerators, Waits the times in which
	// workers on cores had to wait for some.
	Copies []Copy
	Waits  []Wait
	Names  map[int]string // of workers that have one: accelerators', and those of nodes
	Nodes  []NodeRows     // of a cluster; nil: there is one
}

// Graph is the tasks of a job as they were submitted, from which the edges follow.
type Graph struct {
	Job   uint64
	Data  []graph.ProgramDatum
	Tasks []graph.ProgramTask
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

// span returns the first start and the last end. A recording without events has none:
// both are 0.
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

// byTask returns the last attempt at each task that belongs to a job, in the order of
// jobs and tasks. Work outside jobs, which has the number 0, is left out: it has no
// edges.
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

// interval is a time from and to.
type interval struct{ from, to time.Duration }

// busy returns when each worker was inside tasks. A task that waits in another
// one's slot lies over the tasks that run there meanwhile: their time counts once.
// They are in the order of time and do not overlap.
func (r *Recording) busy() [][]interval {
	busy := make([][]interval, r.workers())
	for _, e := range r.byTime() {
		b := &busy[e.Worker]
		if n := len(*b); n > 0 && e.Start < (*b)[n-1].to {
			(*b)[n-1].to = max((*b)[n-1].to, e.End)
			continue
		}
		*b = append(*b, interval{e.Start, e.End})
	}
	return busy
}

// workers returns the number of workers, at least those that have events.
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
