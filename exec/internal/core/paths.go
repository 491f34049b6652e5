package core

import "time"

// Two nodes may be unable to pass values to each other though the driver reaches both: because of a
// firewall, a lost route, or a path that drops large packets. Neither node is lost. Values between
// them go by way of a relay, a third node that reaches both:
//
//	open ─► a value did not come: cut ─► pause ─► one trial ─► it came: open
//	                                       ▲           │
//	                                       └───────────┘ twice as long
//
//	Supply         a holder that the reader reaches,
//	               or a node that is fetching the value, or a holder on a path that may be tried again,
//	               or a relay, which fetches the value first
//	reachableNode  for a task, a node that reaches all operands
//	NoRoute        no way now: wait for the next trial, or give up nodes
//
// This file is pure: callers pass times in.

// paths knows which nodes cannot fetch from which others. A node that comes back has a new number.
type paths struct {
	Now       time.Time
	question  int // number of the current question: see Begin
	Cut       map[path]*cutPath
	lastRelay int // relays take turns
	Changes   int // counts values that came over cut paths, and trials that have ended
}

// path leads from the giver of a value to its reader.
type path struct{ reader, giver int }

// cutPath is a path over which a value did not come.
type cutPath struct {
	since    time.Time
	until    time.Time     // no trial before this …
	pause    time.Duration // … which is this long after the last trial
	failures int           // in a row, the first included
	trying   bool
	question int // the question whose answer is the trial
}

const (
	// CutPause is the pause after the first failure: as long as a fetch tries to reach a node. It
	// doubles with each further one, so that a path that works again is used after as much time as
	// it was cut, or maxCutPause: then trials, each of a fetch's time, are 3 % of the time. Runs
	// take equally long with half and twice of either (docs/internals/measurements.md, constants of
	// the runtime).
	CutPause    = time.Second
	maxCutPause = 32 * time.Second
	// maxTrial is the time after which another trial may begin: the reader of the first may be
	// lost.
	maxTrial = 2 * time.Minute
	// deadFailures is the number of failures after which a path counts as dead if there is no other
	// way.
	deadFailures = 3
)

// Begin begins a question: from which nodes a reader fetches all that it needs now. A trial may
// carry all values of one question.
func (p *paths) Begin(now time.Time) {
	p.Now = now
	p.question++
}

// NoteFailure notes that a value did not come over a path, and reports whether the path was open
// before. Of several values on their way at once only the first counts.
func (p *paths) NoteFailure(reader, giver int, now time.Time) (news bool) {
	p.Now = now
	k := path{reader, giver}
	x := p.Cut[k]
	switch {
	case x == nil:
		if p.Cut == nil {
			p.Cut = map[path]*cutPath{}
		}
		p.Cut[k] = &cutPath{since: now, until: now.Add(CutPause), pause: CutPause, failures: 1}
		return true
	case x.trying || !now.Before(x.until):
		p.Changes++
		x.trying, x.failures = false, x.failures+1
		x.pause = min(2*x.pause, maxCutPause)
		x.until = now.Add(x.pause)
	}
	return false
}

// NoteSuccess notes that a value has come over a path. If the path was cut, it returns since when.
func (p *paths) NoteSuccess(reader, giver int) (since time.Time, was bool) {
	k := path{reader, giver}
	x := p.Cut[k]
	if x == nil {
		return since, false
	}
	p.Changes++
	delete(p.Cut, k)
	return x.since, true
}

// IsOpen reports whether a path is not cut, as far as is known.
func (p *paths) IsOpen(reader, giver int) bool { return p.Cut[path{reader, giver}] == nil }

// mayTry reports whether a path is open or may be tried again.
func (p *paths) mayTry(reader, giver int) bool {
	x := p.Cut[path{reader, giver}]
	return x == nil || !p.Now.Before(x.until) || x.trying && x.question == p.question
}

// beginTrial notes that a value will come over a path. If the path is cut this is its trial, and no
// other one begins before it ends.
func (p *paths) beginTrial(reader, giver int) {
	if x := p.Cut[path{reader, giver}]; x != nil {
		x.trying, x.question, x.until = true, p.question, p.Now.Add(maxTrial)
	}
}

// isDead reports whether nothing is expected of a path any more.
func (p *paths) isDead(reader, giver int) bool {
	x := p.Cut[path{reader, giver}]
	return x != nil && x.failures >= deadFailures
}

// removeNode forgets the paths of a node.
func (p *paths) removeNode(node int) {
	for k := range p.Cut {
		if k.reader == node || k.giver == node {
			delete(p.Cut, k)
		}
	}
}
