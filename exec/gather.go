package exec

import (
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
)

// This file collects the workers of a task of several units (Constraints.Units of the task, or of its version):
//
//	a worker takes it ─► claim ─► so many workers of the place are idle ─► muster ─► the squad gathers ─► runs
//	                       └─► it waits in wide, and the worker goes on ─► summon ──────▲
//
// dispatch.Wide decides when it begins. The workers come as members of a team that stays, the squad.

// claim begins t, which w has taken. It returns the squad: w and idle workers of its place. If too few are idle, it puts t
// into s.wide and returns nil. w goes on then, and summon gives t to a worker of the kind.
func (s *scheduler) claim(w *seat, t *graph.Task, units int) *team {
	s.mu.Lock()
	defer s.mu.Unlock()
	here := s.placeOf[w.info.ID]
	x := dispatch.WideTask{Task: t, Units: units, Kind: s.kinds.of[w.info.ID], Memory: w.held}
	if s.wide.Fits(&x, here) && !s.wide.Holds(here) && s.idleAt(here)+1 >= units {
		return s.muster(w, units)
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
	return nil
}

// summon returns a task of several units for which w and other idle workers of its place suffice, with its squad, which
// w leads; nil if there is none. The caller holds mu.
func (s *scheduler) summon(w *seat) (*graph.Task, *team) {
	here := s.placeOf[w.info.ID]
	x, ok := s.wide.Take(here, s.idleAt(here)+1)
	if !ok {
		return nil, nil
	}
	w.held = x.Memory
	return x.Task, s.muster(w, x.Units)
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

// muster makes w the leader of a squad. Idle workers of its place join it when they look for work next, before anything
// else. The caller holds mu, counts w as busy, and has seen that enough others are idle.
func (s *scheduler) muster(w *seat, units int) *team {
	t := newTeam(w, units-1, true, &s.offers, s)
	s.offers.publish(t)
	for range units - 1 {
		// This does not block: see "Waking a worker" in docs/internals/locks.md. Workers that spin find the offer by
		// themselves.
		s.rise(func(p *seat) bool { return near(&p.info, &w.info) }).rouse()
	}
	return t
}
