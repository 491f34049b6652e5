package core

import "time"

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
	Now   time.Time
	round int // the question that is answered now: see begin
	Cut   map[path]*cutPath
	turn  int // the latest relay
	News  int // values that have come over a path that was cut, and trials that have ended
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
	// CutPause is for how long a path is not tried after the first value that did not come. It
	// doubles with each further one, up to cutPauseMost. Not measured.
	CutPause     = time.Second
	cutPauseMost = 32 * time.Second
	// trialMost is how long a trial may take before there is another one: what tried it may be lost.
	trialMost = 2 * time.Minute
	// deadFails is after how many trials in vain nothing is expected of a path, where there is no
	// other way.
	deadFails = 3
)

// Begin has what is asked from now on be one question, at that time: from whom a node is to have all
// that it needs now. What a path that is tried again gives may be several values.
func (p *paths) Begin(now time.Time) {
	p.Now = now
	p.round++
}

// Fails notes that a value did not come over a path, and reports whether that is news. Of values that
// were on their way together only the first one counts.
func (p *paths) Fails(reader, giver int, now time.Time) (news bool) {
	p.Now = now
	k := path{reader, giver}
	x := p.Cut[k]
	switch {
	case x == nil:
		if p.Cut == nil {
			p.Cut = map[path]*cutPath{}
		}
		p.Cut[k] = &cutPath{since: now, until: now.Add(CutPause), pause: CutPause, fails: 1}
		return true
	case x.trying || !now.Before(x.until):
		p.News++
		x.trying, x.fails = false, x.fails+1
		x.pause = min(2*x.pause, cutPauseMost)
		x.until = now.Add(x.pause)
	}
	return false
}

// Moved notes that a value has come over a path, and returns since when it was cut, if it was.
func (p *paths) Moved(reader, giver int) (since time.Time, was bool) {
	k := path{reader, giver}
	x := p.Cut[k]
	if x == nil {
		return since, false
	}
	p.News++
	delete(p.Cut, k)
	return x.since, true
}

// Whole reports whether a path is not known to be cut.
func (p *paths) Whole(reader, giver int) bool { return p.Cut[path{reader, giver}] == nil }

// open reports whether a path is not known to be cut, or may be tried again.
func (p *paths) open(reader, giver int) bool {
	x := p.Cut[path{reader, giver}]
	return x == nil || !p.Now.Before(x.until) || x.trying && x.round == p.round
}

// takes notes that a value is going to come over a path that is open. If that is a trial, there is
// no other one before it has ended.
func (p *paths) takes(reader, giver int) {
	if x := p.Cut[path{reader, giver}]; x != nil {
		x.trying, x.round, x.until = true, p.round, p.Now.Add(trialMost)
	}
}

// dead reports whether nothing is expected of a path.
func (p *paths) dead(reader, giver int) bool {
	x := p.Cut[path{reader, giver}]
	return x != nil && x.fails >= deadFails
}

// lose forgets a node.
func (p *paths) lose(node int) {
	for k := range p.Cut {
		if k.reader == node || k.giver == node {
			delete(p.Cut, k)
		}
	}
}
