package exec

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// scheduler has the ready tasks of a runtime, and its workers as far as they have to do
// with that: who sleeps, who looks for tasks, who may join whom. This file is about
// tasks that come in, and who is woken for them; take.go about workers that want one.
//
// There is one lock. It is held for some hundred nanoseconds at a time and never while
// something is waited for or a version runs; what a worker can learn without it, whether
// there are tasks or teams, it reads from queued and offers. A worker takes it once for
// a task: what its last one has freed goes in and its next one comes out together.
//
// Who brings work wakes at most one worker, and that one the next if there is more: to
// wake a thread costs more than a short task. A worker is not woken while another one
// still looks about, which is going to find the task.
type scheduler struct {
	opt      *Options
	selector *versions.Selector
	workers  []Worker // those on cores come first
	hosts    int      // how many these are
	kinds    kinds
	devices  offload.Devices // the accelerators; nil if there are none
	desks    []*desk         // of their workers
	fixed    graph.Locations // those of workers on cores, within which values do not move
	picky    bool            // some worker may be unable to run a task
	far      bool            // there are several locations
	observed bool            // somebody looks at each attempt
	lonely   bool            // tasks may be left to one worker: see solo

	closing atomic.Bool // workers end when nothing is queued
	// submitting is the number of jobs for which nobody has waited since the last
	// task was submitted: more may come.
	submitting atomic.Int32

	_    [64]byte
	solo solo
	_    [56]byte
	// queued says whether there are ready tasks, for spinning workers to look at
	// without the lock.
	queued atomic.Bool
	offers offers
	_      [56]byte

	mu    sync.Mutex // guards what follows: see docs/internals/locks.md
	ready *dispatch.Queue
	park
	memory    memory
	returning int // workers that want their slots back

	backlogs []*backlog // of jobs that have one, which may be empty
	rings    [][]note   // for backlogs, passed on from job to job
}

// desk is where the worker of a device waits for tasks. It sleeps there only if the device
// has nothing to do; else it waits in the accelerator for the end of a call. The
// scheduler's lock guards it.
type desk struct {
	device *offload.Device
	id     int           // of the worker
	wake   chan struct{} // capacity 1
	// waits says that the worker wants to be told of ready tasks, and asleep that it
	// waits for wake and not for the accelerator.
	waits, asleep bool
}

// rouse wakes the worker, whatever it waits for.
func (d *desk) rouse() {
	d.waits = false
	if !d.asleep {
		d.device.Wake()
		return
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// newScheduler returns a scheduler for workers that are there, those on cores first, of
// which there are so many, and then those of devices.
func newScheduler(opt *Options, k kinds, workers []Worker, hosts int) *scheduler {
	s := &scheduler{opt: opt, selector: k.selector, workers: workers, hosts: hosts, kinds: k, devices: k.devices}
	for i := range workers[:hosts] {
		s.fixed |= 1 << uint(workers[i].Location)
	}
	for i, d := range s.devices {
		s.desks = append(s.desks, &desk{device: d, id: hosts + i, wake: make(chan struct{}, 1)})
	}
	s.offers.open = make([]atomic.Pointer[team], hosts)
	s.memory = newMemory(k.targets[:k.hosts])
	policy, places := s.kinds.policy(opt, workers, s.fixed)
	s.ready = dispatch.NewQueue(policy, hosts, len(workers))
	s.picky, s.far = len(k.targets) > 1, places > 1
	s.observed = opt.Recorder != nil || opt.Stories > 0 || opt.Watchdog != nil
	// One worker that executes all would keep a device waiting, a policy that sets tasks
	// aside for others too, and who observes would see the wrong thing.
	s.lonely = s.devices == nil && !s.ready.Reserves() && !s.observed
	return s
}

// enqueue hands ready tasks that no worker has freed to the policy.
func (s *scheduler) enqueue(ready []*graph.Task) { s.push(ready, -1) }

// push hands over ready tasks that a worker has freed, -1 for nobody: some policies keep
// them near to that worker.
func (s *scheduler) push(ready []*graph.Task, from int) {
	s.mu.Lock()
	s.ready.Push(ready, from)
	w := s.rouse()
	s.mu.Unlock()
	w.rouse()
}

// redirect hands a task to the next worker on cores that can execute it, which is w if
// there is no other one, and reports whether there is one. Workers come in turns, so that
// one with a broken core, say, does not get each attempt.
func (s *scheduler) redirect(t *graph.Task, w int) bool {
	to, tries := w, 0
	for ok := false; !ok; tries++ {
		if tries == s.hosts {
			return false
		}
		to = (to + 1) % s.hosts
		ok = s.kinds.unfit(t, s.workers[to].Target) == nil
	}
	// It goes to that worker's inbox, and only that worker is of use.
	s.mu.Lock()
	s.ready.Direct(t, to)
	s.count()
	sleeper := s.rise(func(p *seat) bool { return p.info.ID == to })
	s.mu.Unlock()
	sleeper.rouse()
	return true
}

// elsewhere gives t to the device that can execute it and misses the fewest of its
// bytes, and reports whether there is one.
func (s *scheduler) elsewhere(t *graph.Task) bool {
	best := s.devices.Nearest(t)
	if best < 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.devices[best].Gone() { // and has given away what it had
		return false
	}
	s.ready.Direct(t, s.hosts+best)
	s.count()
	s.rouseDevices()
	return true
}

// passOn gives a task that a worker on cores has taken and cannot execute to a worker
// that can, if there is one.
func (s *scheduler) passOn(t *graph.Task, w int) bool {
	return s.kinds.unfit(t, s.workers[w].Target) != nil && (s.redirect(t, w) || s.elsewhere(t))
}

// refuse gives a task that the worker of a device has taken to others: to another device if
// no worker on cores can run it, else to the first on cores that is free. The policy is
// told in either case that the device's worker has done with one.
func (s *scheduler) refuse(t *graph.Task, by int) {
	if !s.kinds.hostFit(t) && s.elsewhere(t) {
		s.push(nil, by)
		return
	}
	s.mu.Lock()
	s.ready.Refuse(t, by)
	s.count()
	w := s.rise(anyone)
	s.mu.Unlock()
	w.rouse()
}

// count brings queued up to date: whether there is something that a worker which spins
// could take. It writes only if that changes, for others read it all the time. The
// caller holds mu.
func (s *scheduler) count() {
	if some := s.ready.Len()+s.memory.count+s.returning > 0; some != s.queued.Load() {
		s.queued.Store(some)
	}
}

// rouse brings queued up to date and takes a sleeping worker off the list if
// there is work that no worker looks for, in the policy or in a backlog, or one
// worker executes all tasks and nobody looks after it. The caller holds mu, and
// must wake the worker that rouse returns when it has released mu.
func (s *scheduler) rouse() *seat {
	s.count()
	if s.devices != nil {
		s.rouseDevices()
	}
	if s.ready.Reserves() && s.ready.Common() > 0 {
		// All look for whom there may be a task. A token always has room: see
		// docs/internals/locks.md.
		s.parked = slices.DeleteFunc(s.parked, func(w *seat) bool {
			if !s.ready.Wants(w.info.ID) {
				return false
			}
			s.spinning++
			w.wake <- struct{}{}
			return true
		})
		return nil
	}
	if s.spinning > 0 || len(s.parked) == 0 {
		return nil
	}
	solo := s.solo.one.Load() != nil
	if solo && s.solo.watched || !solo && s.ready.Common() == 0 && !s.behind() {
		return nil
	}
	// The worker that slept last has the warmest caches, and may be the one again.
	w := s.rise(anyone)
	s.spinning-- // goOn asks for the others
	s.goOn(w)
	s.spinning++
	return w
}

// rouseDevices wakes the workers of devices that look for tasks, if there may be one for
// them. The caller holds mu.
func (s *scheduler) rouseDevices() {
	for _, d := range s.desks {
		if d.waits && s.ready.Any(d.id) {
			d.rouse()
		}
	}
}

// goOn makes w, which has rested, the worker that executes all tasks once more if it
// has been that before and nobody else is awake. The caller holds mu.
func (s *scheduler) goOn(w *seat) {
	if s.lonely && s.solo.one.Load() == nil && w.pace.score >= enough && len(s.parked) >= s.hosts-1 {
		s.entrust(w)
	}
}

// entrust makes w the worker that executes all tasks. The caller holds mu.
func (s *scheduler) entrust(w *seat) {
	s.solo.entrust(w, &s.park).rouse() // there is room: see docs/internals/locks.md
}

// recruit implements [teamHost]: it rouses as many workers of the leader's node as are
// wanted and do not look about already. Who joins a team does not look after the worker
// that executes all tasks: if that is the leader, it is so no more, or nobody would come
// to what is in a backlog.
func (s *scheduler) recruit(t *team, wanted int) {
	var room [16]*seat
	idle, w := room[:0], t.leader
	s.mu.Lock()
	alone := s.solo.resign(w)
	wanted -= s.spinning
	if p := s.lingering; p != nil && !near(&p.info, &w.info) {
		wanted++
	}
	// Members have to be of the leader's node and kind; a worker of another one that
	// looks about is no help.
	for len(idle) < wanted {
		p := s.rise(func(p *seat) bool { return near(&p.info, &w.info) })
		if p == nil {
			break
		}
		idle = append(idle, p)
	}
	if alone {
		s.absorb()
		if other := s.rouse(); other != nil {
			idle = append(idle, other)
		}
	}
	s.mu.Unlock()
	for _, p := range idle {
		p.rouse()
	}
}

// busy and recorder implement [teamHost]: a member that helps goes as soon as there is a
// task for it.
func (s *scheduler) busy() bool                { return s.queued.Load() }
func (s *scheduler) recorder() *trace.Recorder { return s.opt.Recorder }

// postpone leaves it to the worker that executes tasks to add spec to the graph of b, if one
// worker executes all of them or some have been left so before, and reports whether it
// did. The caller holds the job's submit, and has checked spec.
func (s *scheduler) postpone(b *backlog, spec *graph.Spec) bool {
	if s.solo.one.Load() == nil && b.empty() || !suits(spec) {
		return false
	}
	if b.ring == nil {
		s.lendRing(b)
	}
	if !b.write(spec) {
		return false
	}
	// A worker that is not the one any more says so before it looks for the last
	// time.
	if s.solo.one.Load() == nil {
		s.help(b)
	}
	return true
}

// help puts some of a backlog into the graph, and more if nothing is ready then. Who
// submits does so when there is no solo to read it any more.
func (s *scheduler) help(b *backlog) {
	s.mu.Lock()
	s.read(b)
	s.absorb()
	w := s.rouse()
	s.mu.Unlock()
	w.rouse()
}

// settle puts everything in a backlog into the graph. The caller holds the job's submit.
func (s *scheduler) settle(b *backlog) {
	for !b.empty() {
		s.help(b)
	}
}

// read puts a gulp from a backlog into the graph. The caller holds mu.
func (s *scheduler) read(b *backlog) {
	ready := b.infer(gulp)
	s.ready.Push(ready, -1)
	clear(ready)
}

// absorb puts what workers are going to need from the backlogs into the graphs: until a
// task is ready, and some hundred ahead of those that have ended, so that the policy has
// a choice. The caller holds mu.
func (s *scheduler) absorb() {
	for _, b := range s.backlogs {
		for b.unread() && (s.ready.Common() == 0 || b.short()) {
			s.read(b)
		}
	}
}

// behind reports whether there is something in a backlog: absorb has left it there
// while tasks were ready. The caller holds mu.
func (s *scheduler) behind() bool { return slices.ContainsFunc(s.backlogs, (*backlog).unread) }

// lendRing makes a backlog ready for use.
func (s *scheduler) lendRing(b *backlog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backlogs = append(s.backlogs, b)
	if n := len(s.rings); n > 0 {
		b.ring = s.rings[n-1]
		s.rings = slices.Delete(s.rings, n-1, n)
		return
	}
	n := 1
	for n < min(s.opt.Window, backlogSize) {
		n *= 2
	}
	b.ring = make([]note, n)
}

// takeRing takes back what lendRing lent: all tasks have ended.
func (s *scheduler) takeRing(b *backlog) {
	if b.ring == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.backlogs, b); i >= 0 {
		s.backlogs = slices.Delete(s.backlogs, i, i+1)
	}
	s.rings = append(s.rings, b.ring)
	b.ring = nil
}
