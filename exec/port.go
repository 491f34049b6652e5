package exec

import (
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/versions"
)

// port is an [offload.Runtime]: the runtime as a device's worker sees it. Like a worker on cores it
// has a site for attempts, and asks the scheduler for tasks.
type port struct {
	*scheduler
	watchdog *watchdog
	desk     *desk
	site     site
	all      *sync.WaitGroup // all workers of the runtime
}

// Take implements [offload.Runtime].
func (p *port) Take(tasks []*graph.Task, room int, idle bool) ([]*graph.Task, bool) {
	return p.serve(p.desk, tasks, room, idle)
}

// Push implements [offload.Runtime].
func (p *port) Push(freed []*graph.Task) { p.push(freed, p.desk.id) }

// Refuse implements [offload.Runtime].
func (p *port) Refuse(t *graph.Task) { p.refuse(t, p.desk.id) }

// Leave implements [offload.Runtime]. It reports true if the policy sorts tasks by kind: then no
// other worker takes tasks that only this device could run, and the device's worker fails them.
func (p *port) Leave(tasks []*graph.Task) (takes bool) {
	p.enqueue(append(tasks, p.takeReserved(p.desk)...))
	return p.kinds.sorted
}

// Uses implements [offload.Runtime]. From now on the end of the job flushes the devices.
func (p *port) Uses(t *graph.Task) (job uint64) {
	j := jobOf(t)
	j.used.Store(true)
	return j.id
}

// NewAttempt implements [offload.Runtime].
func (p *port) NewAttempt() offload.Attempt {
	return &remote{attempt{rt: p.scheduler, watchdog: p.watchdog, at: &p.site}}
}

// Exit implements [offload.Runtime].
func (p *port) Exit() { p.all.Done() }

// remote makes an attempt an [offload.Attempt]: the device's worker decides when its steps run.
type remote struct{ attempt }

// Open implements [offload.Attempt].
func (r *remote) Open(t *graph.Task, work *versions.Workspace, freed []*graph.Task) ([]*graph.Task, bool) {
	return r.open(t, work, freed)
}

// Chosen implements [offload.Attempt].
func (r *remote) Chosen() (*versions.Call, *versions.Version) { return &r.call, r.choice.Version }

// Starts implements [offload.Attempt].
func (r *remote) Starts(t *graph.Task) { r.begin(t) }

// Ends implements [offload.Attempt].
func (r *remote) Ends(t *graph.Task, began time.Time, took time.Duration, err error) error {
	if !began.IsZero() {
		r.start = began
	}
	err = r.finish(t, took, err)
	r.learn(took, err)
	return err
}

// Conclude implements [offload.Attempt].
func (r *remote) Conclude(t *graph.Task, err error, freed []*graph.Task) (_ []*graph.Task, again bool) {
	return r.conclude(t, err, freed)
}

// Fail implements [offload.Attempt].
func (r *remote) Fail(t *graph.Task, err error, freed []*graph.Task) []*graph.Task {
	return jobOf(t).fail(r.at, t, r.choice.Version.Name, err, freed)
}

// Restore implements [offload.Attempt].
func (r *remote) Restore(t *graph.Task) bool { return restore(t, r.rt.devices) }

// Anew implements [offload.Attempt]. The tally takes the task's start back, or it would be counted
// twice.
func (r *remote) Anew(t *graph.Task, why error) {
	jobOf(t).addStep(t, graph.Ready, r.at.info.ID, r.choice.Version.Name, why)
	if r.at.tally != nil && t.Attempt == 0 {
		r.at.tally.Forsaken()
	}
	t.SetState(graph.Ready)
}

// Forget implements [offload.Attempt]. The value is used again for another task.
func (r *remote) Forget() {
	r.forget()
	r.choice = versions.Choice{}
}
