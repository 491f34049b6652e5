package exec

import (
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// site is where attempts at tasks are made: a worker on cores, or a device. It belongs to
// the goroutine of that worker; a substitute has a copy of it.
type site struct {
	info   Worker
	device *offload.Device // nil for cores

	// These are nil without a recorder: what takes the event of an attempt that has
	// ended; what notes the task that an attempt begins with, and returns the time; and
	// what counts.
	record  func(trace.Event)
	running func(trace.Running, bool) time.Duration
	tally   *trace.Tally

	settled [4]settled // some ops whose version is the same for all calls
	settle  int        // how many have been put there
}

// settled is an op with the choice that the selector makes for every call on a
// target: because there is but one version, or versions are pinned.
type settled struct {
	op     *versions.Op
	choice versions.Choice
}

// newSite returns the place for attempts of the worker that info describes.
func newSite(info Worker, d *offload.Device, r *trace.Recorder) site {
	s := site{info: info, device: d}
	if r != nil {
		s.record, s.running, s.tally = r.Sink(info.ID), r.Starter(info.ID), r.Tally(info.ID)
	}
	return s
}

// seat is what others may know of a worker on cores: who it is, whether it sleeps, what
// it holds. The scheduler deals with seats, and never with what a worker executes.
type seat struct {
	site
	slot *slot
	wake chan struct{}      // capacity 1: one token for each time it is roused
	held int64              // memory that its task has taken; scheduler.mu guards it
	part versions.Workspace // for parts of a team's task
	pace pace
	// visit executes a task on the calling goroutine, in the worker's place, while it
	// sleeps: see scheduler.vacate. Substitutes have none.
	visit func(*graph.Task)
}

// slot is a place for a worker: its cores, its inbox, its number. At any time
// one worker has it; those that wait inside a task have given it to a
// substitute.
type slot struct {
	// returning are workers that want the slot back, first come first served.
	// The scheduler's lock guards it.
	returning []*seat
}

// rouse wakes w, which park.rise has returned, if it is not nil. It need not be called
// under the lock; there is room for one token, and never more than one.
func (w *seat) rouse() {
	if w != nil {
		w.wake <- struct{}{}
	}
}
