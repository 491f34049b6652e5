package offload

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// flight is an attempt at a task on a device, from before its start until it is
// concluded.
type flight struct {
	Attempt
	task   *graph.Task
	launch versions.Launch
	uses   []versions.Use
	last   bool // of those that were started as one
}

// ready prepares the launch of the version that was chosen.
func (f *flight) ready(job uint64) {
	for i := range f.task.Len() {
		f.uses = append(f.uses, use(f.task.Operand(i).Mode))
	}
	call, version := f.Chosen()
	f.launch = versions.Launch{Call: *call, Version: version, Uses: f.uses, Job: job, Owner: f}
}

// ends ends the attempt, by the times of the accelerator.
func (f *flight) ends(err error) error {
	return f.Ends(f.task, f.launch.Begin, f.launch.Busy, err)
}

// hangar has flights that are on no way, for the next tasks.
type hangar []*flight

// flight returns a flight of t.
func (h *hangar) flight(t *graph.Task, attempt func() Attempt) *flight {
	var f *flight
	if n := len(*h); n > 0 {
		f, *h = (*h)[n-1], (*h)[:n-1]
	} else {
		f = &flight{Attempt: attempt()}
	}
	f.task = t
	return f
}

// land takes a flight back. It keeps no data alive.
func (h *hangar) land(f *flight) {
	f.Forget()
	f.task, f.last = nil, false
	f.launch, f.uses = versions.Launch{}, f.uses[:0]
	*h = append(*h, f)
}
