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
// A goroutine that brings work wakes at most one worker, because waking a thread costs more than a short
// task. That worker wakes the next one if there is more work. No goroutine wakes a worker while another
// worker spins: the spinning worker will find the task.
type scheduler struct {
	opt             *Options
	selector        *versions.Selector
	workers         []Worker // those on cores come first
	hosts           int      // number of workers on cores
	kinds           kinds
	devices         offload.Devices // the accelerators; nil if there are none
	desks           []*desk         // where the devices' workers wait
	placeOf         []int           // place of each worker on cores: see dispatch.Wide
	fixed           graph.Locations // locations of workers on cores, among which values do not move
	mixedKinds      bool            // some workers may be unable to run a task
	severalMemories bool            // there are several memories
	observed        bool            // a recorder, stories or a watchdog observe each attempt

	closing atomic.Bool // workers end when nothing is queued
	// submitting is the number of jobs that may submit more: nobody has waited for them since their
	// last task.
	submitting atomic.Int32

	_ [64]byte
	// queued says whether there are ready tasks. Spinning workers read it without the lock.
	queued atomic.Bool
	offers offers
	_      [56]byte

	mu    sync.Mutex // guards what follows: see docs/internals/locks.md
	ready *dispatch.Queue
	park
	memory    memory
	returning int    // workers that want their slots back
	resting   []bool // by worker on cores: it has nothing to do
	wide      dispatch.Wide
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
	s.placeOf, s.wide = k.places(workers[:hosts])
	s.resting = make([]bool, hosts)
	s.memory = newMemory(k.targets[:k.hosts])
	policy, places := s.kinds.policy(opt, workers, s.fixed)
	s.ready = dispatch.NewQueue(policy, hosts, len(workers))
	s.mixedKinds, s.severalMemories = len(k.targets) > 1, places > 1
	s.observed = opt.Recorder != nil || opt.Stories > 0 || opt.Watchdog != nil
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

// elsewhere gives t to a device that can execute it, and reports whether there is one. It chooses the
// device that lacks the fewest bytes of the operands.
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

// passOn handles a task that worker w on cores has taken. If w cannot execute the task, passOn gives it to
// a worker that can. It reports whether it has done so.
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
	if some := s.ready.Len()+s.memory.count+s.returning+s.wide.Len() > 0; some != s.queued.Load() {
		s.queued.Store(some)
	}
}

// rouse updates queued and takes a sleeping worker off the list if there are ready tasks and no
// worker spins. The caller holds mu, and wakes the returned worker after it has released mu.
func (s *scheduler) rouse() *seat {
	s.updateQueued()
	if s.devices != nil {
		s.rouseDevices()
	}
	if s.ready.Reserves() && s.ready.Common() > 0 {
		// Wake every worker for which there may be a task. The channel always has room for the token:
		// see docs/internals/locks.md.
		s.parked = slices.DeleteFunc(s.parked, func(w *seat) bool {
			if !s.ready.Wants(w.info.ID) || !s.mayTake(w) {
				return false
			}
			s.spinning++
			w.wake <- struct{}{}
			return true
		})
		return nil
	}
	if s.spinning > 0 || s.ready.Common() == 0 {
		return nil
	}
	return s.rise(s.mayTake)
}

// mayTake, for rise, fits workers whose place is not held for a task of several units.
func (s *scheduler) mayTake(w *seat) bool { return !s.wide.Holds(s.placeOf[w.info.ID]) }

// rouseDevices wakes the workers of devices that want tasks, if there may be one for them. The
// caller holds mu.
func (s *scheduler) rouseDevices() {
	for _, d := range s.desks {
		if d.waits && s.ready.Any(d.id) {
			d.rouse()
		}
	}
}

// recruit implements [teamHost]: it wakes as many workers of the leader's node as are wanted beside
// those that spin already.
func (s *scheduler) recruit(t *team, wanted int) {
	var room [16]*seat
	idle, w := room[:0], t.leader
	s.mu.Lock()
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
	s.mu.Unlock()
	for _, p := range idle {
		p.rouse()
	}
}

// busy, cores and recorder implement [teamHost]. A helper leaves its team when busy reports true.
func (s *scheduler) busy() bool                { return s.queued.Load() }
func (s *scheduler) cores() int                { return s.hosts }
func (s *scheduler) recorder() *trace.Recorder { return s.opt.Recorder }
