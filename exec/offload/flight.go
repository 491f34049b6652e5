package offload

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// flight is an attempt at a task on a device, from before its start until it is concluded.
type flight struct {
	Attempt
	task   *graph.Task
	launch versions.Launch
	uses   []versions.Use
	last   bool // the last one of its batch
}

// prepare makes the launch of the chosen version.
func (f *flight) prepare(job uint64) {
	for i := range f.task.Len() {
		f.uses = append(f.uses, use(f.task.Operand(i).Mode))
	}
	call, version := f.Chosen()
	f.launch = versions.Launch{Call: *call, Version: version, Uses: f.uses, Job: job, Owner: f}
}

// finish ends the attempt, with the accelerator's times.
func (f *flight) finish(err error) error {
	return f.Ends(f.task, f.launch.Begin, f.launch.Busy, err)
}

// flightPool has unused flights.
type flightPool []*flight

// get returns a flight of t.
func (h *flightPool) get(t *graph.Task, attempt func() Attempt) *flight {
	var f *flight
	if n := len(*h); n > 0 {
		f, *h = (*h)[n-1], (*h)[:n-1]
	} else {
		f = &flight{Attempt: attempt()}
	}
	f.task = t
	return f
}

// put takes a flight back, without references to data.
func (h *flightPool) put(f *flight) {
	f.Forget()
	f.task, f.last = nil, false
	f.launch, f.uses = versions.Launch{}, f.uses[:0]
	*h = append(*h, f)
}
