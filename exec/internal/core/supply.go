package core

import (
	"slices"
	"time"
)

// Supply says from which nodes a reader fetches the latest version of a datum.
type Supply struct {
	From []int // the first to be asked first; empty if there is no way now
	Soon bool  // the first is still fetching it
	// Relay, if it is not −1, is From[0], and has to be told to fetch the version from the nodes Through.
	Relay   int
	Through []int
}

// Supply returns from which nodes a reader fetches the latest version of e, which some node must
// have. It records its answer: a trial begins, or the reader joins the tree along which the version
// spreads, if spreads is true.
func (s *NodeTable) Supply(e *Entry, reader int, spreads bool) (x Supply) {
	x.Relay = -1
	isOpen := s.openFrom(reader)
	if isOpen == nil || slices.ContainsFunc(e.Holders, isOpen) {
		if spreads {
			x.From, x.Soon = e.sourcesFor(reader, isOpen)
		} else {
			x.From = e.Sources(isOpen)
		}
		return x
	}
	if g := s.fetcher(e, reader); g >= 0 {
		x.From, x.Soon = []int{g}, true
		return x
	}
	for _, h := range e.Holders {
		if s.paths.mayTry(reader, h) {
			s.paths.beginTrial(reader, h)
			x.From = []int{h}
			return x
		}
	}
	if k, h := s.findRelay(e, reader); k >= 0 {
		s.paths.beginTrial(reader, k)
		s.paths.beginTrial(k, h)
		x.From, x.Soon, x.Relay = []int{k}, true, k
		if x.Through = e.Sources(s.openFrom(k)); len(x.Through) == 0 {
			x.Through = []int{h}
		}
		e.Spreaders = append(e.Spreaders, spreader{node: k, turn: 1})
	}
	return x
}

// CanSupply reports whether Supply would find a way. It records nothing.
func (s *NodeTable) CanSupply(e *Entry, reader int) bool {
	if slices.ContainsFunc(e.Holders, func(h int) bool { return s.paths.mayTry(reader, h) }) || s.fetcher(e, reader) >= 0 {
		return true
	}
	k, _ := s.findRelay(e, reader)
	return k >= 0
}

// openFrom returns a predicate for the nodes from which a reader can fetch, nil if it can from all.
func (s *NodeTable) openFrom(reader int) func(giver int) bool {
	if len(s.paths.Cut) == 0 {
		return nil
	}
	return func(giver int) bool { return s.paths.IsOpen(reader, giver) }
}

// fetcher returns a node that is fetching a version and that the reader reaches, −1 if there is
// none.
func (s *NodeTable) fetcher(e *Entry, reader int) int {
	for _, x := range e.Spreaders { // the reader waits only for fetches that were assigned before its own
		if x.node != reader && !x.holds && !s.Absent(x.node) && s.paths.IsOpen(reader, x.node) {
			return x.node
		}
	}
	return -1
}

// findRelay returns a relay for a reader that reaches no holder of a version, and the holder from
// which the relay fetches; −1 if there is none. Agents take turns; the driver is the last choice.
// Open paths come before paths that may be tried again.
func (s *NodeTable) findRelay(e *Entry, reader int) (k, holder int) {
	for _, reaches := range []func(reader, giver int) bool{s.paths.IsOpen, s.paths.mayTry} {
		for i := range s.Nodes {
			k := (s.paths.lastRelay + i + 1) % len(s.Nodes)
			if h := s.holderFor(e, reader, k, reaches); h >= 0 && k > 0 && s.Nodes[k].memory.HasRoomFor(e.Label.Bytes) {
				s.paths.lastRelay = k
				return k, h
			}
		}
		if h := s.holderFor(e, reader, 0, reaches); h >= 0 {
			return 0, h
		}
	}
	return -1, -1
}

// holderFor returns the holder from which node k can fetch a version as a relay for a reader, −1 if
// k is no such relay.
func (s *NodeTable) holderFor(e *Entry, reader, k int, reaches func(reader, giver int) bool) (holder int) {
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

// CanReach reports whether a node has the latest version of e or may reach a holder.
func (s *NodeTable) CanReach(e *Entry, node int) bool {
	return e.Has(node) || slices.ContainsFunc(e.Holders, func(h int) bool { return s.paths.mayTry(node, h) })
}

// deadEnd says what becomes of a reader that has no way to a value now.
type deadEnd struct {
	Lost []int     // give up these nodes, as no value can be fetched from them, or by them
	At   time.Time // otherwise wait until a path is tried again
}

// hasRoute reports whether there is a way from a holder to a node with at most one relay, including
// paths that have to be tried again.
func (s *NodeTable) hasRoute(e *Entry, node int) bool {
	if e.Has(node) {
		return true
	}
	for _, h := range e.Holders {
		if !s.paths.isDead(node, h) {
			return true
		}
		for k := range s.Nodes {
			if k != node && k != h && !s.Absent(k) && !s.paths.isDead(node, k) && !s.paths.isDead(k, h) {
				return true
			}
		}
	}
	return false
}

// NoRoute returns what to do after Supply has found no way. If the driver has the value or a way to
// it, the reader is the node that cannot be reached; otherwise the holders are.
func (s *NodeTable) NoRoute(e *Entry, reader int) (v deadEnd) {
	if !s.hasRoute(e, reader) {
		if reader > 0 && s.hasRoute(e, 0) {
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
	v.At = now.Add(maxCutPause)
	for k, x := range s.paths.Cut {
		if (k.reader == reader || slices.Contains(e.Holders, k.giver)) && x.until.After(now) && x.until.Before(v.At) {
			v.At = x.until
		}
	}
	return v
}
