package exec

import (
	"runtime"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/topo"
)

// turn is what a worker does next: a task, joining a team, or ending; or nothing.
type turn struct {
	task  *graph.Task
	squad *team // of the task: see scheduler.muster
	team  *team // to join
	heir  *seat // gets the slot back: this worker ends
}

// found reports whether there is something to do.
func (x *turn) found() bool { return x.task != nil || x.team != nil || x.heir != nil }

// pop finds work for w. The caller holds mu.
//
// First comes what only w can do: give its slot back, join the team of a leader that waits, lead idle
// workers that a task waits for, run a task that has waited for memory and has got it. Then ready tasks,
// and last another worker's task that w can help with.
func (s *scheduler) pop(w *seat) turn {
	s.resting[w.info.ID] = false
	x := s.look(w)
	s.resting[w.info.ID] = !x.found()
	return x
}

// look does the work of pop.
func (s *scheduler) look(w *seat) (x turn) {
	if x.heir = s.yieldTo(w); x.heir != nil {
		return x
	}
	if x.team = s.offers.find(w, true); x.team != nil {
		return x
	}
	several := s.wide.Len() > 0 // tasks wait for several workers
	if several {
		if x.task, x.squad = s.summon(w); x.task != nil || !s.mayTake(w) {
			return x
		}
	}
	if x.task = s.memory.grant(w, s.kinds.of[w.info.ID]); x.task == nil {
		x.task = s.ready.Pop(w.info.ID)
	}
	if x.task == nil {
		x.team = s.offers.find(w, false)
		if s.devices != nil {
			s.rouseDevices() // the policy may have left a task to a device just now
		}
	} else if several {
		s.wide.Pass(s.placeOf[w.info.ID])
	}
	return x
}

// exchange hands over the tasks that w's last one has freed and returns what w does next. If that
// is nothing, w is to call await. A busy worker takes the lock only here.
func (s *scheduler) exchange(w *seat, freed []*graph.Task) turn {
	s.mu.Lock()
	s.ready.Push(freed, w.info.ID)
	s.giveMemory(w)
	x := s.pop(w)
	// More tasks may have come in than w takes. A policy may also reserve ready tasks for other
	// workers, so that w finds none. And queued may be stale: w would not sleep.
	other := s.rouse()
	if !x.found() {
		s.spinning++
	}
	s.mu.Unlock()
	other.rouse()
	return x
}

// await returns what w, which found nothing before, does next: nothing if the runtime is closed. w
// counts among the spinning workers on entry.
//
// It spins for some microseconds and looks once more under the lock, where it may decide to linger,
// once. Then it sleeps. It joins the list of sleepers before it releases the lock, so a goroutine
// that brings work later finds it there.
func (s *scheduler) await(w *seat) turn {
	mayLinger, procs := true, runtime.GOMAXPROCS(0)
	if procs > 1 {
		s.spin(w, spins)
	}
	for {
		s.mu.Lock()
		if s.lingering == w {
			s.lingering = nil
		}
		if x := s.pop(w); x.found() {
			// One worker less spins: if there is more work, wake another one.
			s.spinning--
			other := s.rouse()
			s.mu.Unlock()
			other.rouse()
			return x
		}
		// It has looked once under the lock, and found nothing.
		if mayLinger && s.worthLingering(procs) {
			mayLinger = false
			s.lingering = w
			s.mu.Unlock()
			s.linger(w)
			continue
		}
		s.spinning--
		if s.closing.Load() {
			s.mu.Unlock()
			return turn{}
		}
		s.parked = append(s.parked, w)
		var other *seat
		if !s.mayTake(w) { // ready tasks are for workers of other places
			other = s.rouse()
		}
		s.mu.Unlock()
		other.rouse()
		<-w.wake // park.rise has counted w as spinning
	}
}

// spin looks n times for a ready task or a team to join, and reports whether there is one. It reads
// only words that others seldom write, so that it does not slow them down.
func (s *scheduler) spin(w *seat, n int) bool {
	for range n {
		if s.queued.Load() || s.offers.find(w, false) != nil {
			return true
		}
		pause()
	}
	return false
}

// worthLingering reports whether a worker that finds no task should spin for longer than [spins]
// before it sleeps, because a program that waited for one operation often calls the next one. One
// worker does so, under these conditions: no submitter is active, one of procs processors stays
// free for other goroutines (one that waits for a task, say, or a guest), and the runtime is not
// closing. The caller holds mu.
func (s *scheduler) worthLingering(procs int) bool {
	return s.lingering == nil && s.hosts-len(s.parked)-s.guests < procs && s.devices == nil &&
		s.submitting.Load() == 0 && !s.closing.Load()
}

// linger spins for Options.linger. Where the clock stands still while a goroutine runs, as in package
// testing/synctest, it returns at once.
func (s *scheduler) linger(w *seat) {
	last := time.Now()
	for end := last.Add(s.opt.linger); last.Before(end) && !s.closing.Load(); {
		if s.spin(w, 32) {
			return
		}
		now := time.Now()
		if now.Equal(last) {
			return
		}
		last = now
	}
}

// reclaim waits until w has its slot back: until the substitute asks for its next task, or is
// woken.
func (s *scheduler) reclaim(w *seat) {
	s.mu.Lock()
	w.slot.returning = append(w.slot.returning, w)
	s.returning++
	s.updateQueued()
	sleeper := s.rise(func(p *seat) bool { return p.slot == w.slot })
	s.mu.Unlock()
	sleeper.rouse()
	<-w.wake
}

// vacate takes a sleeping worker that can have a guest off the list, nil if there is none. It
// prefers one on the calling thread's core: a worker woken there would wait for that thread. Next
// comes one on the same NUMA node, whose data are near.
func (s *scheduler) vacate() *seat {
	cpu := topo.CPU()
	node := topo.Here().NodeOf(cpu)
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.rise(func(p *seat) bool { return p.visit != nil && slices.Contains(p.info.CPUs, cpu) })
	if w == nil {
		w = s.rise(func(p *seat) bool { return p.visit != nil && p.info.Node == node })
	}
	if w == nil {
		w = s.rise(func(p *seat) bool { return p.visit != nil })
	}
	if w != nil {
		s.spinning-- // it sleeps on
		s.guests++
		s.resting[w.info.ID] = false
	}
	return w
}

// occupy gives w, whose guest leaves, its seat back, and hands over the tasks that the guest's task
// has freed. It wakes w if w was wanted in the meantime.
func (s *scheduler) occupy(w, guest *seat, freed []*graph.Task) {
	s.mu.Lock()
	s.guests--
	s.ready.Push(freed, w.info.ID)
	s.giveMemory(guest)
	s.parked = append(s.parked, w)
	s.resting[w.info.ID] = true
	var wanted *seat
	if s.closing.Load() || len(w.slot.returning) > 0 || s.wide.Len() > 0 {
		wanted = s.rise(func(p *seat) bool { return p == w })
	}
	other := s.rouse()
	s.mu.Unlock()
	wanted.rouse()
	other.rouse()
}

// isWanted reports whether there is other work for w than mine, the number of ready tasks of w's own
// job.
func (s *scheduler) isWanted(w *seat, mine int) bool {
	if s.offers.find(w, true) != nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(w.slot.returning) > 0 || s.ready.Len()+s.memory.count > mine || s.wide.Len() > 0
}

// yieldTo returns the worker that w must give its slot to now, nil if there is none. w ends then.
// The caller holds mu, and wakes the returned worker after it has released mu.
func (s *scheduler) yieldTo(w *seat) *seat {
	at := w.slot
	if len(at.returning) == 0 {
		return nil
	}
	r := at.returning[0]
	at.returning = slices.Delete(at.returning, 0, 1)
	s.returning--
	return r
}

// reserve takes need bytes of memory for w's task t. If they are not free now, later is true: t
// waits and comes back by memory.grant, and w goes on to other tasks. The error is a *MemoryError:
// there is never enough.
func (s *scheduler) reserve(w *seat, t *graph.Task, need int64) (later bool, err error) {
	have := w.info.Target.Memory
	if have == 0 || need <= w.held {
		return false, nil
	}
	if need > have {
		return false, &MemoryError{Op: t.Op.OpName(), Need: need, Have: have}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveMemory(w) // of an earlier attempt, which needed less
	return !s.memory.take(w, s.kinds.of[w.info.ID], claim{task: t, bytes: need}), nil
}

// giveMemory gives back what w holds, and wakes workers for tasks that get their memory by that.
// The caller holds mu.
func (s *scheduler) giveMemory(w *seat) {
	if w.held == 0 {
		return
	}
	kind := s.kinds.of[w.info.ID]
	for range s.memory.give(w, kind) {
		// wake has room: see docs/internals/locks.md.
		s.rise(func(p *seat) bool { return s.kinds.of[p.info.ID] == kind }).rouse()
	}
	s.updateQueued()
}

// lend gives back w's memory while f waits, and takes as much again: f may wait for a task that
// needs it.
func (s *scheduler) lend(w *seat, f func()) {
	held := w.held
	if held == 0 {
		f()
		return
	}
	s.mu.Lock()
	s.giveMemory(w)
	s.mu.Unlock()
	defer func() {
		c := claim{bytes: held, ready: make(chan struct{})}
		s.mu.Lock()
		got := s.memory.take(w, s.kinds.of[w.info.ID], c)
		s.mu.Unlock()
		if !got {
			<-c.ready
			w.held = held
		}
	}()
	f()
}

// serve takes up to room ready tasks for a device's worker: see [offload.Runtime]. It takes many at
// once, so that their operands are copied while others compute.
func (s *scheduler) serve(d *desk, tasks []*graph.Task, room int, idle bool) (_ []*graph.Task, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; room > 0; room-- {
		t := s.ready.Pop(d.id)
		if t == nil {
			break
		}
		tasks = append(tasks, t)
	}
	d.waits = room > 0
	if len(tasks) > 0 {
		s.updateQueued()
		return tasks, true
	}
	if !idle {
		return tasks, true
	}
	if s.closing.Load() {
		return tasks, false
	}
	// One token stands for all that have woken it. None is lost: a caller that sees asleep adds the
	// token.
	d.asleep = true
	s.mu.Unlock()
	<-d.wake
	s.mu.Lock()
	d.asleep = false
	return tasks, true
}

// takeReserved takes all tasks that wait for a lost device's worker: those in its inbox, and those that
// the policy has reserved for it.
func (s *scheduler) takeReserved(d *desk) (left []*graph.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := s.ready.Pop(d.id); t != nil; t = s.ready.Pop(d.id) {
		left = append(left, t)
	}
	return left
}

// idle reports whether a worker has nothing to do. If so, a job that does not get on does not wait
// for a worker: see watchdog.
func (s *scheduler) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.parked)+s.spinning > 0
}

// close makes workers end when nothing is queued. It wakes those that sleep; like all woken workers
// they count as spinning.
func (s *scheduler) close() {
	s.mu.Lock()
	s.closing.Store(true)
	for _, d := range s.desks {
		d.rouse()
	}
	parked := s.parked
	s.parked = nil
	s.spinning += len(parked)
	s.mu.Unlock()
	for _, w := range parked {
		w.rouse()
	}
}
