package exec

import (
	"slices"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// This file collects the workers of a task of several units (Constraints.Units of the task, or of its version):
//
//	a worker takes it ─► collect ─► so many workers of the place are idle ─► muster ─► the team gathers ─► runs
//	                         └─► it waits in wide, and the worker goes on ─► summon ──────▲
//
// dispatch.Wide decides when it begins. The workers come as members of a team that stays.

// places returns the place of each worker on cores, and the list of tasks that wait for several workers of one.
func (k *kinds) places(workers []Worker) (of []int, wide dispatch.Wide) {
	var first, sizes, kinds []int // of each place
	for i := range workers {
		p := slices.IndexFunc(first, func(f int) bool { return near(&workers[f], &workers[i]) })
		if p < 0 {
			p = len(first)
			first, sizes, kinds = append(first, i), append(sizes, 0), append(kinds, k.of[i])
		}
		sizes[p]++
		of = append(of, p)
	}
	return of, dispatch.NewWide(sizes, kinds)
}

// units returns how many workers the attempt takes. A target may declare more units than there are workers.
func (w *worker) units(t *graph.Task) int {
	n := w.choice.Version.Constraints.Units
	if c, _ := t.Constraints().(*versions.Constraints); c != nil {
		n = max(n, c.Units)
	}
	if n > 1 {
		n = min(n, w.rt.wide.Most(w.rt.kinds.of[w.info.ID]))
	}
	return n
}

// collect gives w's task t its units. If there are not so many idle workers, later is true: t waits, and comes back
// by summon to any worker of the kind.
func (w *worker) collect(t *graph.Task, units int) (later bool) {
	if w.squad != nil {
		if w.squad.Units() == units {
			return false
		}
		w.disband() // of an earlier choice, of a version that takes another number
	}
	return units > 1 && w.rt.claim(&w.seat, t, units)
}

// disband dismisses workers that have come for a task that does not run.
func (w *worker) disband() {
	w.squad.close()
	w.squad = nil
}

// claim makes w the leader of units workers if enough of its place are idle. Else t waits: then claim returns true.
func (s *scheduler) claim(w *seat, t *graph.Task, units int) (later bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	here := s.placeOf[w.info.ID]
	x := dispatch.WideTask{Task: t, Units: units, Kind: s.kinds.of[w.info.ID], Memory: w.held}
	if s.wide.Fits(&x, here) && !s.wide.Holds(here) && s.idleAt(here)+1 >= units {
		s.muster(w, units)
		return false
	}
	w.held = 0 // t keeps it
	s.wide.Add(x)
	s.updateQueued()
	// Workers of another place may all sleep.
	for _, p := range s.parked {
		if at := s.placeOf[p.info.ID]; at != here && s.wide.Fits(&x, at) && s.idleAt(at) >= units {
			s.rise(func(q *seat) bool { return q == p }).rouse()
			break
		}
	}
	return true
}

// summon returns a task of several units for which w and other idle workers of its place suffice, nil if there is
// none. w leads them. The caller holds mu.
func (s *scheduler) summon(w *seat) *graph.Task {
	here := s.placeOf[w.info.ID]
	x, ok := s.wide.Take(here, s.idleAt(here)+1)
	if !ok {
		return nil
	}
	w.held = x.Memory
	s.muster(w, x.Units)
	return x.Task
}

// idleAt returns the number of idle workers of a place. The caller holds mu.
func (s *scheduler) idleAt(place int) (n int) {
	for id, at := range s.placeOf {
		if at == place && s.resting[id] {
			n++
		}
	}
	return n
}

// muster makes w the leader of a team. Idle workers of its place join it when they look for work next, before anything
// else. The caller holds mu, counts w as busy, and has seen that enough others are idle.
func (s *scheduler) muster(w *seat, units int) {
	w.squad = newTeam(w, units-1, true, s)
	w.squad.offers.publish(w.squad)
	for range units - 1 {
		// wake has room: see docs/internals/locks.md. Those that spin come by themselves.
		s.rise(func(p *seat) bool { return near(&p.info, &w.info) }).rouse()
	}
}

// mayTake, for rise, fits workers whose place is not held for a task of several units.
func (s *scheduler) mayTake(w *seat) bool { return !s.wide.Holds(s.placeOf[w.info.ID]) }
