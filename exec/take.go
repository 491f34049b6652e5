package exec

import (
	"runtime"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/internal/topo"
)

// turn is what a worker is to do next: one of three, or nothing.
type turn struct {
	task *graph.Task
	team *team // to join
	heir *seat // that is to have the slot: this worker is at its end
}

func (x *turn) found() bool { return x.task != nil || x.team != nil || x.heir != nil }

// pop finds something for w to do. If w is apart it leaves the queues to the worker
// that executes all tasks. The caller holds mu.
//
// First come those that wait for this very worker: one that wants its slot back, and the
// leader of a team that stays. Then a task that has waited for memory and has it now,
// which nobody else can use. Then tasks, and if there is none, another worker's task to
// help with.
func (s *scheduler) pop(w *seat, apart bool) (x turn) {
	if x.heir = s.yieldTo(w); x.heir != nil {
		return x
	}
	if x.team = s.offers.find(w, true); x.team != nil {
		s.joins(w)
		return x
	}
	if x.task = s.memory.grant(w, s.kinds.of[w.info.ID]); x.task != nil {
		return x
	}
	if apart {
		x.task = s.ready.Own(w.info.ID)
	} else if x.task = s.ready.Pop(w.info.ID); x.task == nil && s.devices != nil {
		s.rouseDevices() // the policy may have left it to one of them just now
	}
	if x.task == nil {
		x.team = s.offers.find(w, false)
	}
	if x.team != nil && s.joins(w) {
		if x.task = s.ready.Pop(w.info.ID); x.task != nil {
			x.team = nil
		}
	}
	return x
}

// joins says that w is about to join a team, and reports whether it was the worker that
// executes all tasks: it cannot be that and a member, for it would not come to what is in a
// backlog. The caller holds mu.
func (s *scheduler) joins(w *seat) bool {
	if !s.solo.resign(w) {
		return false
	}
	s.absorb()
	return true
}

// exchange hands over what w's last task has freed and returns what w is to do next,
// which may be nothing: then it is to await something. It is all that a worker that is
// kept busy takes the lock for.
func (s *scheduler) exchange(w *seat, freed []*graph.Task) turn {
	s.mu.Lock()
	s.ready.Push(freed, w.info.ID)
	s.giveMemory(w)
	if w.pace.claims {
		w.pace.claims = false
		if s.solo.one.Load() == nil {
			s.entrust(w)
		}
	}
	// A worker whose tasks are not quick takes no notice of a solo: that is going to end.
	apart := w.pace.score >= enough && s.solo.apart(w)
	if !apart {
		s.absorb()
	}
	x := s.pop(w, apart)
	// More tasks may have come in than w takes. A policy may also keep what there is for
	// others, so that w finds nothing although something is ready.
	found := x.found()
	var other *seat
	switch {
	case s.solo.watched && s.solo.one.Load() == w: // nobody is wanted
	case found || s.ready.Common() > 0: // what is left may be for others only
		other = s.rouse()
	}
	if !found {
		s.spinning++
		s.count() // or w would not wait for tasks before it goes to sleep
	}
	s.mu.Unlock()
	other.rouse()
	return x
}

// await returns what is next for w, which found nothing before; that is nothing if the
// runtime is closed. w counts among the spinning workers on entry.
//
// It looks for some microseconds, then once more under the lock, where it may decide to
// look for longer, once. Then it sleeps: it is on the list before it gives the lock back,
// so that who brings work after that finds it there.
func (s *scheduler) await(w *seat) turn {
	lingering, procs := true, runtime.GOMAXPROCS(0)
	for woken := false; ; woken = true {
		if !woken {
			s.solo.resign(w) // before the last look at backlogs
			if procs > 1 {
				s.spin(w, spins)
			}
		}
		s.mu.Lock()
		if s.lingering == w {
			s.lingering = nil
		}
		apart := s.solo.apart(w)
		if !apart {
			s.absorb()
			if s.ready.Common() == 0 && s.solo.resign(w) {
				s.absorb()
			}
		}
		if x := s.pop(w, apart); x.found() {
			// One less looks about: if there is more, another one is woken for it.
			s.spinning--
			if !lingering && x.task != nil {
				s.goOn(w)
			}
			other := s.rouse()
			s.mu.Unlock()
			other.rouse()
			return x
		}
		// It has looked once under the lock, and found nothing.
		if lingering && s.worthLingering(procs) {
			lingering = false
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
		// The first that sleeps while one worker executes all looks after that one.
		watch := apart && !s.solo.watched
		s.solo.watched = s.solo.watched || watch
		s.mu.Unlock()
		if watch {
			s.watch(w)
			continue
		}
		<-w.wake // who wakes w has counted it as spinning
	}
}

// spin waits a little, n looks, for a task, or for one of somebody else to help
// with, and reports whether there is one. A look touches what others seldom write, so that
// it does not slow down who works.
func (s *scheduler) spin(w *seat, n int) bool {
	for range n {
		if s.queued.Load() || s.offers.find(w, false) != nil {
			return true
		}
		pause()
	}
	return false
}

// worthLingering reports whether a worker that finds no task had better look for
// longer than [spins] before it goes to sleep: who has waited for one operation
// often calls the next one. One worker does, if those who submit wait, or there are
// none, and of procs processors one is left for other goroutines: one that waits for
// another worker's task, say, or a guest. Where a single worker executes all tasks, nobody else
// is wanted. The caller holds mu.
func (s *scheduler) worthLingering(procs int) bool {
	return s.lingering == nil && s.hosts-len(s.parked)-s.guests < procs && s.devices == nil && s.submitting.Load() == 0 && !s.disturbed()
}

// disturbed reports whether a worker must not linger, or no more: the runtime is
// closing, or one worker executes all tasks, which wants to be looked after.
func (s *scheduler) disturbed() bool { return s.closing.Load() || s.solo.one.Load() != nil }

// linger is spin for the time that it may take. Where the clock stands still as long as
// somebody runs, as in package testing/synctest, it takes none.
func (s *scheduler) linger(w *seat) {
	last := time.Now()
	for end := last.Add(s.opt.tempo.linger); last.Before(end) && !s.disturbed(); {
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

// watch looks after the worker that executes all tasks, while w sleeps: if that does not
// get on, all workers are asked for again. It returns when w is awake, and counts among
// the spinning workers.
func (s *scheduler) watch(w *seat) {
	awake := s.solo.lookAfter(w)
	s.mu.Lock()
	s.solo.watched = false
	if s.solo.apart(w) {
		s.solo.one.Store(nil) // nobody would look after it
	}
	if s.rise(func(p *seat) bool { return p == w }) != nil {
		awake = true
	}
	s.mu.Unlock()
	if !awake {
		<-w.wake
	}
}

// reclaim waits until w, which has lent its slot, has it again: until the substitute comes
// back for its next task, or is woken if it sleeps.
func (s *scheduler) reclaim(w *seat) {
	s.mu.Lock()
	w.slot.returning = append(w.slot.returning, w)
	s.returning++
	s.count()
	sleeper := s.rise(func(p *seat) bool { return p.slot == w.slot })
	s.mu.Unlock()
	sleeper.rouse()
	<-w.wake
}

// vacate takes a sleeping worker off the list, for whose seat there is a guest: nil if there
// is none. Best is one whose core the calling thread has: woken, it would wait for it. While one
// worker executes all tasks the others are left where they are.
func (s *scheduler) vacate() *seat {
	cpu := topo.CPU()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.solo.one.Load() != nil {
		return nil
	}
	w := s.rise(func(p *seat) bool { return p.visit != nil && slices.Contains(p.info.CPUs, cpu) })
	if w == nil {
		w = s.rise(func(p *seat) bool { return p.visit != nil })
	}
	if w != nil {
		s.spinning-- // it sleeps on
		s.guests++
	}
	return w
}

// occupy gives w, whose guest goes, its seat back, and hands over what the guest's task has
// freed. It is woken if somebody has wanted it meanwhile, and not found it asleep.
func (s *scheduler) occupy(w, guest *seat, freed []*graph.Task) {
	s.mu.Lock()
	s.guests--
	s.ready.Push(freed, w.info.ID)
	s.giveMemory(guest)
	s.parked = append(s.parked, w)
	var wanted *seat
	if s.closing.Load() || len(w.slot.returning) > 0 {
		wanted = s.rise(func(p *seat) bool { return p == w })
	}
	other := s.rouse()
	s.mu.Unlock()
	wanted.rouse()
	other.rouse()
}

// spread says that w is at a task that takes long, and others had better come: if w has
// executed all tasks, it does so no more.
func (s *scheduler) spread(w *seat) {
	if !s.solo.resign(w) {
		return
	}
	s.mu.Lock()
	s.absorb()
	other := s.rouse()
	s.mu.Unlock()
	other.rouse()
}

// wants reports whether something beside mine, tasks that are ready, is for w when it has
// ended what it is at.
func (s *scheduler) wants(w *seat, mine int) bool {
	if s.offers.find(w, true) != nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(w.slot.returning) > 0 || s.ready.Len()+s.memory.count > mine
}

// yieldTo returns the worker that w must give its slot to now, nil if there is
// none. The caller holds mu, and wakes that worker when it has given mu back; w
// is at its end then.
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

// reserve takes the memory, in bytes, that w's task t needs. If there is not enough of it
// now, t waits, and w is to go on to others: later is true. T comes back by grant, with
// its memory. The error is a *MemoryError: there never is enough.
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
	s.giveMemory(w) // of an attempt before, which needed less
	return !s.memory.take(w, s.kinds.of[w.info.ID], claim{task: t, bytes: need}), nil
}

// giveMemory gives back what w holds, and wakes workers for tasks that have got their
// memory by that. The caller holds mu.
func (s *scheduler) giveMemory(w *seat) {
	if w.held == 0 {
		return
	}
	kind := s.kinds.of[w.info.ID]
	for range s.memory.give(w, kind) {
		// There is room: see docs/internals/locks.md.
		s.rise(func(p *seat) bool { return s.kinds.of[p.info.ID] == kind }).rouse()
	}
	s.count()
}

// lend lets others have the memory that w holds while f waits, and takes as much again:
// what f waits for may need it.
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

// serve takes ready tasks for the worker of a device: see [offload.Runtime]. It takes many
// at once, so that what they read can be on its way while others compute.
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
		s.count()
		return tasks, true
	}
	if !idle {
		return tasks, true
	}
	if s.closing.Load() {
		return tasks, false
	}
	// There is one token for all that may have woken it, and none is lost: who finds
	// asleep set puts one there if there is none.
	d.asleep = true
	s.mu.Unlock()
	<-d.wake
	s.mu.Lock()
	d.asleep = false
	return tasks, true
}

// leave takes all tasks that are for the worker of a device, which is lost: those in its
// inbox, and those that the policy has kept for it.
func (s *scheduler) leave(d *desk) (left []*graph.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := s.ready.Pop(d.id); t != nil; t = s.ready.Pop(d.id) {
		left = append(left, t)
	}
	return left
}

// idle reports whether a worker has found nothing to do, for the watchdog: then it is not
// for want of workers that a job does not get on.
func (s *scheduler) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.parked)+s.spinning > 0
}

// close has workers end when nothing is queued. Those that sleep are woken to see it; they
// count as spinning, as all that are roused do.
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
