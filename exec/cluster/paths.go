package cluster

import (
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// Two nodes may be unable to pass values to each other though the driver reaches both: a firewall,
// a route that is gone, a path that drops large packets. Neither of them is lost. What one has and
// the other one needs goes by way of a third node, which reaches both:
//
//	open ─► a value did not come: cut ─► pause ─► tried once ─► it came: open
//	                                       ▲           │
//	                                       └───────────┘ twice as long
//
//	supply   a holder from which the reader has a value directly,
//	         or one that is about to have it, or is to be tried again,
//	         or a relay: a node that fetches it first, and is asked afterwards
//	reaching a node that has all operands of a task directly, in place of one that has not
//	stuck    there is no way now: to wait for the next trial, or to give nodes up
//
// All here is pure: times are handed in.

// paths is which nodes cannot fetch from which other ones. Nodes are numbered as those of the
// driver; a node that comes back is another one.
type paths struct {
	now   time.Time
	round int // the question that is answered now: see begin
	cut   map[path]*cutPath
	turn  int // the latest relay
	news  int // values that have come over a path that was cut, and trials that have ended
}

// path is from the node that has a value to the one that reads it.
type path struct{ reader, giver int }

// cutPath is a path over which a value did not come.
type cutPath struct {
	since  time.Time
	until  time.Time     // nobody tries it before …
	pause  time.Duration // … this long after the latest trial
	fails  int           // trials in a row, the first failure included
	trying bool
	round  int // the question whose answer is the trial
}

const (
	// cutPause is for how long a path is not tried after the first value that did not come. It
	// doubles with each further one, up to cutPauseMost. Not measured.
	cutPause     = time.Second
	cutPauseMost = 32 * time.Second
	// trialMost is how long a trial may take before there is another one: what tried it may be lost.
	trialMost = 2 * time.Minute
	// deadFails is after how many trials in vain nothing is expected of a path, where there is no
	// other way.
	deadFails = 3
)

// begin has what is asked from now on be one question, at that time: from whom a node is to have all
// that it needs now. What a path that is tried again gives may be several values.
func (p *paths) begin(now time.Time) {
	p.now = now
	p.round++
}

// fails notes that a value did not come over a path, and reports whether that is news. Of values that
// were on their way together only the first one counts.
func (p *paths) fails(reader, giver int, now time.Time) (news bool) {
	p.now = now
	k := path{reader, giver}
	x := p.cut[k]
	switch {
	case x == nil:
		if p.cut == nil {
			p.cut = map[path]*cutPath{}
		}
		p.cut[k] = &cutPath{since: now, until: now.Add(cutPause), pause: cutPause, fails: 1}
		return true
	case x.trying || !now.Before(x.until):
		p.news++
		x.trying, x.fails = false, x.fails+1
		x.pause = min(2*x.pause, cutPauseMost)
		x.until = now.Add(x.pause)
	}
	return false
}

// moved notes that a value has come over a path, and returns since when it was cut, if it was.
func (p *paths) moved(reader, giver int) (since time.Time, was bool) {
	k := path{reader, giver}
	x := p.cut[k]
	if x == nil {
		return since, false
	}
	p.news++
	delete(p.cut, k)
	return x.since, true
}

// whole reports whether a path is not known to be cut.
func (p *paths) whole(reader, giver int) bool { return p.cut[path{reader, giver}] == nil }

// open reports whether a path is not known to be cut, or may be tried again.
func (p *paths) open(reader, giver int) bool {
	x := p.cut[path{reader, giver}]
	return x == nil || !p.now.Before(x.until) || x.trying && x.round == p.round
}

// takes notes that a value is going to come over a path that is open. If that is a trial, there is
// no other one before it has ended.
func (p *paths) takes(reader, giver int) {
	if x := p.cut[path{reader, giver}]; x != nil {
		x.trying, x.round, x.until = true, p.round, p.now.Add(trialMost)
	}
}

// dead reports whether nothing is expected of a path.
func (p *paths) dead(reader, giver int) bool {
	x := p.cut[path{reader, giver}]
	return x != nil && x.fails >= deadFails
}

// lose forgets a node.
func (p *paths) lose(node int) {
	for k := range p.cut {
		if k.reader == node || k.giver == node {
			delete(p.cut, k)
		}
	}
}

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

// reaching returns a node that has all that a task reads or reaches somebody who has, and that takes
// the task: the one that it is about to go to, or else the first with room, if there is one.
func (s *scheduler) reaching(t *graph.Task, node int, own bool) int {
	all := func(i int) bool {
		for k := range t.Len() {
			o := t.Operand(k)
			if e := s.data.of(o.Datum); o.Mode&graph.In != 0 && !e.unmade() && len(e.holders) > 0 && !s.reaches(e, i) {
				return false
			}
		}
		return true
	}
	if all(node) {
		return node
	}
	for i, k := s.open.after(node, nil), 0; k < s.open.n; i, k = s.open.after(i, nil), k+1 {
		if i != node && (i > 0 || !own) && s.fit.can(t, i) && all(i) && s.fits(t, i) {
			return i
		}
	}
	return node
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
