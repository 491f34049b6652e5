package exec

import (
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// site is the place of attempts: a worker on cores, or a device. It belongs to the goroutine of
// that worker; a substitute has a copy.
type site struct {
	info   Worker
	device *offload.Device // nil for cores

	// Nil without a recorder. record takes the event of an ended attempt; running notes the task of
	// an attempt that begins and returns the time; tally counts.
	record  func(trace.Event)
	running func(trace.Running, bool) time.Duration
	tally   *trace.Tally

	settled [4]settled // ops whose version is the same for all calls
	settle  int        // number of entries written
}

// settled is an op with the selector's choice for every call on a target: there is only one
// version, or versions are pinned.
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

// seat is the part of a worker on cores that the scheduler and other workers use: its number, its
// bell, what it holds. The scheduler never sees the task that a worker executes.
type seat struct {
	site
	slot *slot
	wake chan struct{}      // capacity 1: a token wakes it
	held int64              // memory that its task holds; scheduler.mu guards it
	part versions.Workspace // scratch for parts of a team's task
	// visit executes a task on the calling goroutine, in the place of this sleeping worker: see
	// scheduler.vacate. Substitutes have none.
	visit func(*graph.Task)
}

// slot is the right to a worker's cores, inbox and number. One worker has it at any time; a worker
// that waits inside a task has lent it to a substitute.
type slot struct {
	// returning are workers that want the slot back, in order. The scheduler's lock guards it.
	returning []*seat
}

// rouse wakes w, which park.rise has returned, unless it is nil. The scheduler's lock is not
// needed: wake has room for one token, and never holds more.
func (w *seat) rouse() {
	if w != nil {
		w.wake <- struct{}{}
	}
}
