package core

import (
	"slices"
	"time"
)

// Supply is where a node has the latest version of a datum from.
type Supply struct {
	From []int
	Soon bool // the first has yet to get it
	// relay, if it is not -1, is the first of from, which is to be told to fetch the version from
	// these nodes.
	Relay   int
	Through []int
}

// none reports whether there is none now.
func (x *Supply) none() bool { return len(x.From) == 0 }

// Supply returns where a node is to fetch the latest version of e from, which somebody has. It takes
// note of what it returns: a trial is under way, and the node has a share in spreading the version
// if it spreads.
func (s *Seating) Supply(e *Entry, reader int, spreads bool) (x Supply) {
	x.Relay = -1
	whole := s.from(reader)
	if whole == nil || slices.ContainsFunc(e.Holders, whole) {
		if spreads {
			x.From, x.Soon = e.fetched(reader, whole)
		} else {
			x.From = e.From(whole)
		}
		return x
	}
	if g := s.coming(e, reader); g >= 0 {
		x.From, x.Soon = []int{g}, true
		return x
	}
	for _, h := range e.Holders {
		if s.paths.open(reader, h) {
			s.paths.takes(reader, h)
			x.From = []int{h}
			return x
		}
	}
	if k, h := s.relay(e, reader); k >= 0 {
		s.paths.takes(reader, k)
		s.paths.takes(k, h)
		x.From, x.Soon, x.Relay = []int{k}, true, k
		if x.Through = e.From(s.from(k)); len(x.Through) == 0 {
			x.Through = []int{h}
		}
		e.Shares = append(e.Shares, share{node: k, turn: 1})
	}
	return x
}

// Supplies reports whether supply would find something. It takes note of nothing.
func (s *Seating) Supplies(e *Entry, reader int) bool {
	if slices.ContainsFunc(e.Holders, func(h int) bool { return s.paths.open(reader, h) }) || s.coming(e, reader) >= 0 {
		return true
	}
	k, _ := s.relay(e, reader)
	return k >= 0
}

// from returns which nodes a reader can have values from, as far as is known; nil: all.
func (s *Seating) from(reader int) (whole func(giver int) bool) {
	if len(s.paths.Cut) == 0 {
		return nil
	}
	return func(giver int) bool { return s.paths.Whole(reader, giver) }
}

// coming returns a node that is about to have a version, and from which a reader can have it; -1 if
// there is none.
func (s *Seating) coming(e *Entry, reader int) int {
	for _, x := range e.Shares { // of those that were told of it before
		if x.node != reader && !x.has && !s.Absent(x.node) && s.paths.Whole(reader, x.node) {
			return x.node
		}
	}
	return -1
}

// relay returns a node that can fetch a version of which a reader reaches no holder, and to which the
// reader reaches, and a holder from which it can; -1 if there is none. Agents take turns, and the
// driver does it at worst. Paths that are tried again come after those that are whole.
func (s *Seating) relay(e *Entry, reader int) (k, holder int) {
	for _, reaches := range []func(reader, giver int) bool{s.paths.Whole, s.paths.open} {
		for i := range s.Seats {
			k := (s.paths.turn + i + 1) % len(s.Seats)
			if h := s.through(e, reader, k, reaches); h >= 0 && k > 0 && s.Seats[k].memory.Spares(e.Label.Bytes) {
				s.paths.turn = k
				return k, h
			}
		}
		if h := s.through(e, reader, 0, reaches); h >= 0 {
			return 0, h
		}
	}
	return -1, -1
}

// through returns the holder of a version from which a node can fetch it, for a reader that fetches it
// from that one; -1 if there is none.
func (s *Seating) through(e *Entry, reader, k int, reaches func(reader, giver int) bool) (holder int) {
	if k == reader || s.Absent(k) || e.Has(k) || !reaches(reader, k) {
		return -1
	}
	for _, h := range e.Holders {
		if reaches(k, h) {
			return h
		}
	}
	return -1
}

// Reaches reports whether a node has the latest version of e, or reaches somebody who has, as far as is
// known.
func (s *Seating) Reaches(e *Entry, node int) bool {
	return e.Has(node) || slices.ContainsFunc(e.Holders, func(h int) bool { return s.paths.open(node, h) })
}

// verdict is what becomes of a value to which there is no way now.
type verdict struct {
	Lost []int     // these nodes are of no use: what they have cannot be had, or they cannot have what they need
	At   time.Time // or else when a path is tried again
}

// way reports whether there is a way from a holder to a node, also one that has to be tried again.
func (s *Seating) way(e *Entry, node int) bool {
	if e.Has(node) {
		return true
	}
	for _, h := range e.Holders {
		if !s.paths.dead(node, h) {
			return true
		}
		for k := range s.Seats {
			if k != node && k != h && !s.Absent(k) && !s.paths.dead(node, k) && !s.paths.dead(k, h) {
				return true
			}
		}
	}
	return false
}

// Stuck returns what becomes of a value to which supply has found no way. If the driver itself can
// have it, or has it, the reader is the node that is not reached; or else the holders are.
func (s *Seating) Stuck(e *Entry, reader int) (v verdict) {
	if !s.way(e, reader) {
		if reader > 0 && s.way(e, 0) {
			v.Lost = []int{reader}
			return v
		}
		for _, h := range e.Holders {
			if h > 0 {
				v.Lost = append(v.Lost, h)
			}
		}
		return v
	}
	now := s.paths.Now
	v.At = now.Add(cutPauseMost)
	for k, x := range s.paths.Cut {
		if (k.reader == reader || slices.Contains(e.Holders, k.giver)) && x.until.After(now) && x.until.Before(v.At) {
			v.At = x.until
		}
	}
	return v
}
