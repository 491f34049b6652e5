package cluster

import (
	"slices"
	"time"
)

// supply is where a node has the latest version of a datum from.
type supply struct {
	from []int
	soon bool // the first has yet to get it
	// relay, if it is not -1, is the first of from, which is to be told to fetch the version from
	// these nodes.
	relay   int
	through []int
}

// none reports whether there is none now.
func (x *supply) none() bool { return len(x.from) == 0 }

// supply returns where a node is to fetch the latest version of e from, which somebody has. It takes
// note of what it returns: a trial is under way, and the node has a share in spreading the version
// if it spreads.
func (s *seating) supply(e *entry, reader int, spreads bool) (x supply) {
	x.relay = -1
	whole := s.from(reader)
	if whole == nil || slices.ContainsFunc(e.holders, whole) {
		if spreads {
			x.from, x.soon = e.fetched(reader, whole)
		} else {
			x.from = e.from(whole)
		}
		return x
	}
	if g := s.coming(e, reader); g >= 0 {
		x.from, x.soon = []int{g}, true
		return x
	}
	for _, h := range e.holders {
		if s.paths.open(reader, h) {
			s.paths.takes(reader, h)
			x.from = []int{h}
			return x
		}
	}
	if k, h := s.relay(e, reader); k >= 0 {
		s.paths.takes(reader, k)
		s.paths.takes(k, h)
		x.from, x.soon, x.relay = []int{k}, true, k
		if x.through = e.from(s.from(k)); len(x.through) == 0 {
			x.through = []int{h}
		}
		e.shares = append(e.shares, share{node: k, turn: 1})
	}
	return x
}

// supplies reports whether supply would find something. It takes note of nothing.
func (s *seating) supplies(e *entry, reader int) bool {
	if slices.ContainsFunc(e.holders, func(h int) bool { return s.paths.open(reader, h) }) || s.coming(e, reader) >= 0 {
		return true
	}
	k, _ := s.relay(e, reader)
	return k >= 0
}

// from returns which nodes a reader can have values from, as far as is known; nil: all.
func (s *seating) from(reader int) (whole func(giver int) bool) {
	if len(s.paths.cut) == 0 {
		return nil
	}
	return func(giver int) bool { return s.paths.whole(reader, giver) }
}

// coming returns a node that is about to have a version, and from which a reader can have it; -1 if
// there is none.
func (s *seating) coming(e *entry, reader int) int {
	for _, x := range e.shares { // of those that were told of it before
		if x.node != reader && !x.has && !s.absent(x.node) && s.paths.whole(reader, x.node) {
			return x.node
		}
	}
	return -1
}

// relay returns a node that can fetch a version of which a reader reaches no holder, and to which the
// reader reaches, and a holder from which it can; -1 if there is none. Agents take turns, and the
// driver does it at worst. Paths that are tried again come after those that are whole.
func (s *seating) relay(e *entry, reader int) (k, holder int) {
	for _, reaches := range []func(reader, giver int) bool{s.paths.whole, s.paths.open} {
		for i := range s.seats {
			k := (s.paths.turn + i + 1) % len(s.seats)
			if h := s.through(e, reader, k, reaches); h >= 0 && k > 0 && s.seats[k].memory.spares(e.label.bytes) {
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
func (s *seating) through(e *entry, reader, k int, reaches func(reader, giver int) bool) (holder int) {
	if k == reader || s.absent(k) || e.has(k) || !reaches(reader, k) {
		return -1
	}
	for _, h := range e.holders {
		if reaches(k, h) {
			return h
		}
	}
	return -1
}

// reaches reports whether a node has the latest version of e, or reaches somebody who has, as far as is
// known.
func (s *seating) reaches(e *entry, node int) bool {
	return e.has(node) || slices.ContainsFunc(e.holders, func(h int) bool { return s.paths.open(node, h) })
}

// verdict is what becomes of a value to which there is no way now.
type verdict struct {
	lost []int     // these nodes are of no use: what they have cannot be had, or they cannot have what they need
	at   time.Time // or else when a path is tried again
}

// way reports whether there is a way from a holder to a node, also one that has to be tried again.
func (s *seating) way(e *entry, node int) bool {
	if e.has(node) {
		return true
	}
	for _, h := range e.holders {
		if !s.paths.dead(node, h) {
			return true
		}
		for k := range s.seats {
			if k != node && k != h && !s.absent(k) && !s.paths.dead(node, k) && !s.paths.dead(k, h) {
				return true
			}
		}
	}
	return false
}

// stuck returns what becomes of a value to which supply has found no way. If the driver itself can
// have it, or has it, the reader is the node that is not reached; or else the holders are.
func (s *seating) stuck(e *entry, reader int) (v verdict) {
	if !s.way(e, reader) {
		if reader > 0 && s.way(e, 0) {
			v.lost = []int{reader}
			return v
		}
		for _, h := range e.holders {
			if h > 0 {
				v.lost = append(v.lost, h)
			}
		}
		return v
	}
	now := s.paths.now
	v.at = now.Add(cutPauseMost)
	for k, x := range s.paths.cut {
		if (k.reader == reader || slices.Contains(e.holders, k.giver)) && x.until.After(now) && x.until.Before(v.at) {
			v.at = x.until
		}
	}
	return v
}
