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

// scheduler has the ready tasks of a runtime and the state of its workers: which sleep, which look
// for tasks, which may join which team. This file handles tasks that come in and wakes workers for
// them; take.go handles workers that want a task.
//
// There is one lock. It is held for some hundred nanoseconds at a time, and never while a goroutine
// waits or a version runs. A worker reads queued and offers without it, to see whether there are
// tasks or teams. A worker takes the lock once a task: it hands over the tasks that its last one
// has freed and takes its next one.
//
// A goroutine that brings work wakes at most one worker, and that worker the next if there is more:
// waking a thread costs more than a short task. No worker is woken while another one still spins,
// since that one is going to find the task.
type scheduler struct {
	opt             *Options
	selector        *versions.Selector
	workers         []Worker // those on cores come first
	hosts           int      // number of workers on cores
	kinds           kinds
	devices         offload.Devices // the accelerators; nil if there are none
	desks           []*desk         // where the devices' workers wait
	fixed           graph.Locations // locations of workers on cores, among which values do not move
	mixedKinds      bool            // some workers may be unable to run a task
	severalMemories bool            // there are several memories
	observed        bool            // a recorder, stories or a watchdog observe each attempt
	allowsSolo      bool            // one worker may execute all tasks: see solo

	closing atomic.Bool // workers end when nothing is queued
	// submitting is the number of jobs that may submit more: nobody has waited for them since their
	// last task.
	submitting atomic.Int32

	_    [64]byte
	solo solo
	_    [56]byte
	// queued says whether there are ready tasks. Spinning workers read it without the lock.
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
	// waits says that the worker wants ready tasks; asleep that it waits for wake and not in the
	// accelerator.
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

// newScheduler returns a scheduler for workers: the first hosts of them are on cores, the others
// are those of devices.
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
	s.mixedKinds, s.severalMemories = len(k.targets) > 1, places > 1
	s.observed = opt.Recorder != nil || opt.Stories > 0 || opt.Watchdog != nil
	// A single worker that executes everything would keep devices and reserved tasks waiting, and
	// observers would measure it instead of the policy.
	s.allowsSolo = s.devices == nil && !s.ready.Reserves() && !s.observed
	return s
}

// enqueue hands ready tasks that no worker has freed to the policy.
func (s *scheduler) enqueue(ready []*graph.Task) { s.push(ready, -1) }

// push hands ready tasks over that worker from has freed, -1 for none. Some policies keep them near
// that worker.
func (s *scheduler) push(ready []*graph.Task, from int) {
	s.mu.Lock()
	s.ready.Push(ready, from)
	w := s.rouse()
	s.mu.Unlock()
	w.rouse()
}

// redirect hands a task to the next worker on cores that can execute it, w itself if it is the only
// one. It reports false if there is none. Workers take turns, so that one on a faulty core does not
// get each attempt.
func (s *scheduler) redirect(t *graph.Task, w int) bool {
	to, tries := w, 0
	for ok := false; !ok; tries++ {
		if tries == s.hosts {
			return false
		}
		to = (to + 1) % s.hosts
		ok = s.kinds.unfit(t, s.workers[to].Target) == nil
	}
	// The task is in that worker's inbox: no other worker is of use.
	s.mu.Lock()
	s.ready.Direct(t, to)
	s.updateQueued()
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
	if s.devices[best].Gone() { // it has handed its tasks on already
		return false
	}
	s.ready.Direct(t, s.hosts+best)
	s.updateQueued()
	s.rouseDevices()
	return true
}

// passOn gives a task that a worker on cores has taken and cannot execute to a worker
// that can, if there is one.
func (s *scheduler) passOn(t *graph.Task, w int) bool {
	return s.kinds.unfit(t, s.workers[w].Target) != nil && (s.redirect(t, w) || s.elsewhere(t))
}

// refuse hands on a task that the worker of device by has refused: to another device if no worker
// on cores can run it, else to the first free worker on cores. In either case it tells the policy
// that the device's worker is through with a task.
func (s *scheduler) refuse(t *graph.Task, by int) {
	if !s.kinds.hostFit(t) && s.elsewhere(t) {
		s.push(nil, by)
		return
	}
	s.mu.Lock()
	s.ready.Refuse(t, by)
	s.updateQueued()
	w := s.rise(anyone)
	s.mu.Unlock()
	w.rouse()
}

// updateQueued updates queued: whether there is work that a spinning worker could take. It writes only a
// change, because others read queued all the time. The caller holds mu.
func (s *scheduler) updateQueued() {
	if some := s.ready.Len()+s.memory.count+s.returning > 0; some != s.queued.Load() {
		s.queued.Store(some)
	}
}

// rouse updates queued and takes a sleeping worker off the list in two cases: there is work, in the
// policy or in a backlog, for which no worker spins; or a solo worker has no worker that looks
// after it. The caller holds mu, and wakes the returned worker after it has released mu.
func (s *scheduler) rouse() *seat {
	s.updateQueued()
	if s.devices != nil {
		s.rouseDevices()
	}
	if s.ready.Reserves() && s.ready.Common() > 0 {
		// Every worker looks for which there may be a task. The channel always has room for its
		// token: see docs/internals/locks.md.
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
	if solo && s.solo.watched || !solo && s.ready.Common() == 0 && !s.hasBacklog() {
		return nil
	}
	// The worker that went to sleep last has the warmest caches, and may be the solo again.
	w := s.rise(anyone)
	s.spinning-- // goOn asks for the others
	s.goOn(w)
	s.spinning++
	return w
}

// rouseDevices wakes the workers of devices that want tasks, if there may be one for them. The
// caller holds mu.
func (s *scheduler) rouseDevices() {
	for _, d := range s.desks {
		if d.waits && s.ready.Any(d.id) {
			d.rouse()
		}
	}
}

// goOn makes w, which has rested, the solo again if its tasks were short before and all others
// sleep. The caller holds mu.
func (s *scheduler) goOn(w *seat) {
	if s.allowsSolo && s.solo.one.Load() == nil && w.pace.score >= enough && len(s.parked) >= s.hosts-1 {
		s.entrust(w)
	}
}

// entrust makes w the solo, the worker that executes all tasks. The caller holds mu.
func (s *scheduler) entrust(w *seat) {
	s.solo.entrust(w, &s.park).rouse() // wake has room: see docs/internals/locks.md
}

// recruit implements [teamHost]: it wakes as many workers of the leader's node as are wanted beside
// those that spin already. A worker that joins a team cannot look after the solo. So a leader that
// is the solo resigns, or nobody would read its backlog.
func (s *scheduler) recruit(t *team, wanted int) {
	var room [16]*seat
	idle, w := room[:0], t.leader
	s.mu.Lock()
	alone := s.solo.resign(w)
	wanted -= s.spinning
	if p := s.lingering; p != nil && !near(&p.info, &w.info) {
		wanted++
	}
	// Members must be of the leader's node and kind: a spinning worker of another one is no help.
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
	// A solo resigns before it looks at backlogs for the last time, so one of the two sees the
	// task.
	if s.solo.one.Load() == nil {
		s.help(b)
	}
	return true
}

// help puts a batch of a backlog into the graph, and more if nothing is ready then. The submitter
// calls it when there is no solo that would read the backlog.
func (s *scheduler) help(b *backlog) {
	s.mu.Lock()
	s.read(b)
	s.absorb()
	w := s.rouse()
	s.mu.Unlock()
	w.rouse()
}

// settle puts the whole backlog into the graph. The caller holds the job's submit.
func (s *scheduler) settle(b *backlog) {
	for !b.empty() {
		s.help(b)
	}
}

// read puts a batch of a backlog into the graph. The caller holds mu.
func (s *scheduler) read(b *backlog) {
	ready := b.infer(gulp)
	s.ready.Push(ready, -1)
	clear(ready)
}

// absorb moves tasks from the backlogs into the graphs until a task is ready and each graph is
// horizon tasks ahead of those that have ended, so that the policy has a choice. The caller holds
// mu.
func (s *scheduler) absorb() {
	for _, b := range s.backlogs {
		for b.unread() && (s.ready.Common() == 0 || b.short()) {
			s.read(b)
		}
	}
}

// hasBacklog reports whether some backlog is not empty: absorb stops while tasks are ready. The caller
// holds mu.
func (s *scheduler) hasBacklog() bool { return slices.ContainsFunc(s.backlogs, (*backlog).unread) }

// lendRing gives b a ring, a used one if there is one.
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

// takeRing takes b's ring back when all its tasks have ended.
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
