package cluster

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
)

// A driver carries out here what core/supply.go decides:
//
//	a value did not come ─► fetchFailed ─► the path is cut, or the holder does not have the value
//	a task needs a value ─► route ─► sourcesFor: a holder, or a relay, which is told first
//	                              └► put aside until a path is tried again, or a node is given up
//
// A task without an op makes a relay fetch a version, just as it makes a node take a replica. The relay then
// has the version under the usual name, like any node that has read it, and other nodes fetch it from there.

// firstRelay is the least number of a task that makes a relay fetch. It is above the numbers of tasks that take
// replicas: see firstCopy.
const firstRelay = 3 << 62

// relaying is a version on its way to a relay.
type relaying struct {
	e    *core.Entry
	name transport.Ref
	node int
}

// relays implements routes for a job.
type relays struct {
	*placement
	loseNode    func(*node, error)   // gives up a node; called without locks
	tasks       map[uint64]*relaying // by the number of the relay's task
	aside       []*graph.Task        // tasks that wait for a route
	seenChanges int                  // Paths.Changes when the last of them was put aside
}

// newRelays returns the routes of a job.
func newRelays(p *placement, lose func(*node, error)) *relays {
	return &relays{placement: p, loseNode: lose, tasks: map[uint64]*relaying{}}
}

// sourcesFor returns the nodes from which a reader fetches the latest version of e. If necessary, it makes a
// relay fetch that version. The caller holds mu.
func (p *relays) sourcesFor(e *core.Entry, reader int, spreads bool) givers {
	x := p.sched.Supply(e, reader, spreads)
	if x.Relay >= 0 {
		p.startRelay(e, x)
	}
	return givers{p.nodeNames(x.From), x.Soon}
}

// sourcesHome returns the nodes from which the driver fetches the latest version of e.
func (p *relays) sourcesHome(e *core.Entry) givers { return p.sourcesFor(e, 0, false) }

// noteHome notes that the driver has fetched a version from these nodes.
func (p *relays) noteHome(from givers) {
	if len(from.From) == 1 { // of several, any may have given it
		if i := p.indexNamed(from.From[0]); i > 0 {
			p.noteSuccess(0, i)
		}
	}
}

// startRelay tells a relay to fetch a version.
func (p *relays) startRelay(e *core.Entry, supply core.Supply) {
	relay := &relaying{e, e.HeldAs(), supply.Relay}
	p.rounds.LastID++
	id := firstRelay | p.rounds.LastID
	p.tasks[id] = relay
	e.Users++ // so that its holders keep it
	p.fetchesHome++
	p.nodes[relay.node].memory.Pin([]*core.Entry{e})
	request := p.batches[relay.node].add(task{ID: id, Op: core.OpNone}, 1)
	request.Operands = append(request.Operands, operand{
		Ref: relay.name, Mode: graph.In, givers: givers{From: p.nodeNames(supply.Through)}, Type: e.Kind, Shape: e.Shape,
	})
	p.send(relay.node)
}

// endRelay notes that a relay has a version, or could not fetch it. m is nil if the relay is lost. The caller
// holds mu.
func (p *relays) endRelay(id uint64, m *end) {
	relay := p.tasks[id]
	delete(p.tasks, id)
	e := relay.e
	p.nodes[relay.node].memory.Unpin([]*core.Entry{e})
	e.CancelFetch(relay.node)
	switch {
	case m != nil && m.Fault == nil && len(m.Missing) == 0 && e.HeldAs() == relay.name && len(e.Holders) > 0:
		e.AddHolder(relay.node)
		if x := e.StandsFor; x != nil && x.Ref == relay.name {
			x.AddHolder(relay.node)
		}
		if e.Datum != nil {
			e.ShowHolders(e.Datum)
		}
	case m != nil:
		for _, x := range m.Missing {
			if e.HeldAs() == relay.name {
				p.fetchFailed(e, relay.node, x, errors.New(m.Why))
			}
		}
		if !e.Has(relay.node) {
			p.directory.MarkStale(relay.node, relay.name)
			p.nodes[relay.node].memory.Forget(e)
		}
	}
	p.fetchesHome--
	if e.Users--; e.Users == 0 && p.onUnused != nil { // its copies stay: readers are about to fetch them
		p.onUnused(e)
	}
}

// endRelayTask handles the end of a relay's task, and reports whether it is one.
func (p *relays) endRelayTask(node int, m *end) bool {
	if m.ID < firstRelay {
		return false
	}
	if r := p.tasks[m.ID]; r != nil && r.node == node {
		p.endRelay(m.ID, m)
	}
	return true
}

// loseRelays handles the fetches of a lost relay.
func (p *relays) loseRelays(node int) {
	for id, r := range p.tasks {
		if r.node == node {
			p.endRelay(id, nil)
		}
	}
}

// noteFailures notes that values do not come to a reader from some nodes.
func (p *relays) noteFailures(e *core.Entry, reader int, givers []string, why error) {
	for _, name := range givers {
		i := p.indexNamed(name)
		if i < 0 || i == reader || p.sched.Absent(i) {
			continue
		}
		if p.directory.Paths.NoteFailure(reader, i, time.Now()) {
			p.opt.Log.Warn("a node cannot have values from another one, and gets them by way of others",
				"node", p.nodes[reader].name, "from", name, "data", e.Title(), "error", why)
		}
	}
}

// noteSuccess notes that a value has come from a node to another.
func (p *relays) noteSuccess(reader, giver int) {
	if since, was := p.directory.Paths.NoteSuccess(reader, giver); was {
		p.opt.Log.Info("values come from another node directly again",
			"node", p.nodes[reader].name, "from", p.nodes[giver].name, "after", time.Since(since))
	}
}

// fetchFailed handles a version of e that did not come to a node. A holder that could not be reached
// still has it, unless the driver has lost that holder too: a plan of a recovery may name a node that
// was lost while the plan was made. A holder that answers that it does not have the version has lost it.
func (p *relays) fetchFailed(e *core.Entry, reader int, m missing, why error) {
	p.noteFailures(e, reader, m.Unreachable, why)
	e.CancelFetch(reader)
	all := len(m.Unreachable) == 0 && len(m.Without) == 0 // no node was named
	var failed []string
	of := func(h int) bool { return all || slices.Contains(m.Without, p.nodes[h].name) || p.sched.Absent(h) }
	for _, h := range e.Holders {
		if of(h) {
			failed = append(failed, p.nodes[h].name)
		}
	}
	if len(failed) > 0 || len(e.Holders) == 0 {
		p.dropHolders(e, of, failed, why)
	}
}

// maxFailedFetches bounds how often holders of one datum may fail to give it before the job fails.
const maxFailedFetches = 20

// dropHolders notes that holders of a datum could not give its latest version. It logs the first
// case of a job, as a lost node has many. Too many cases with one datum fail the job.
func (p *relays) dropHolders(e *core.Entry, of func(int) bool, names []string, why error) {
	say := p.opt.Log.Debug
	if p.failedFetches++; p.failedFetches == 1 {
		say = p.opt.Log.Info
	}
	nodes := strings.Join(names, ", ")
	if nodes == "" {
		nodes = "those that have left"
	}
	say("nodes that have a value could not give it", "nodes", nodes, "data", e.Title(), "error", why)
	e.DropHolders(of)
	x := e
	if e.StandsFor != nil {
		x = e.StandsFor
	}
	x.FailedFetches++
	p.recoveryDelay = max(p.recoveryDelay, backoff(x.FailedFetches))
	p.fleet.lastFailedFetch = NodeLostError{Node: nodes, Data: x.Title(), Err: why}
	if x.FailedFetches > maxFailedFetches {
		lost := p.fleet.lastFailedFetch
		p.outcome.Abort(&lost)
	}
}

// whyLost returns why a task cannot read lost data. The error names the node that was lost last, or else the
// holders that failed last, and the datum.
func (p *relays) whyLost(t *graph.Task) *NodeLostError {
	why := p.fleet.latestLoss()
	if why.Node == "" {
		asked := p.fleet.lastFailedFetch
		why = &asked
	}
	for k := range t.Len() {
		if o := t.Operand(k); o.Mode&graph.In != 0 && p.data.Of(o.Datum).Lost() {
			why.Data = p.data.Of(o.Datum).Title()
		}
	}
	return why
}

// backoff returns the pause after the given number of failures: 2ᶠ ms, at most 1.024 s.
func backoff(fails int) time.Duration { return time.Millisecond << min(fails, 10) }

// routeHome is route for the driver as the reader. It first updates the time of the paths.
func (p *relays) routeHome(e *core.Entry) (wait time.Duration, ok bool) {
	p.directory.Paths.Begin(time.Now())
	return p.route(e, 0)
}

// route reports whether there is a route for the latest version of e to a node now. If not, it
// returns how long to wait for one, and gives up nodes that cannot be reached. The caller holds mu.
func (p *relays) route(e *core.Entry, reader int) (wait time.Duration, ok bool) {
	if len(p.directory.Paths.Cut) == 0 || e.Has(reader) || len(e.Holders) == 0 || p.sched.CanSupply(e, reader) {
		return 0, true
	}
	v := p.sched.NoRoute(e, reader)
	for _, i := range v.Lost {
		n, why := p.nodes[i], &PathError{Data: e.Title(), Reader: p.nodes[reader].name, Holders: p.nodeNames(e.Holders)}
		go p.loseNode(n, why) // it takes the lock
	}
	if len(v.Lost) > 0 {
		return core.CutPause / 4, false
	}
	return v.At.Sub(p.directory.Paths.Now), false
}

// blocked puts a task aside if a node has no route now to data that the task reads, and reports
// whether it has. The caller holds mu.
func (p *relays) blocked(t *graph.Task, i int) bool {
	if len(p.directory.Paths.Cut) == 0 {
		return false
	}
	p.directory.Paths.Begin(time.Now())
	for k := range t.Len() {
		o := t.Operand(k)
		if o.Mode&graph.In == 0 {
			continue
		}
		e := p.data.Of(o.Datum)
		if wait, ok := p.route(e, i); !ok {
			p.tell(t, exec.Step{
				State: graph.Ready, Note: "put aside until " + e.Title() + " can be had again", Node: p.nodes[i].name,
			})
			p.withdraw(t, i)
			p.putAside(t, wait)
			return true
		}
	}
	return false
}

// putAside makes a task ready again after some time.
func (p *relays) putAside(t *graph.Task, wait time.Duration) {
	p.aside, p.seenChanges = append(p.aside, t), p.directory.Paths.Changes
	number := p.number
	time.AfterFunc(wait, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.number == number && number != 0 {
			p.pushAside()
			p.place()
		}
	})
}

// retryAside makes tasks that were put aside ready if paths have changed, or if the job has failed
// and they will be cancelled.
func (p *relays) retryAside() {
	if len(p.aside) > 0 && (p.seenChanges != p.directory.Paths.Changes || p.outcome.Why() != nil) {
		p.pushAside()
	}
}

// pushAside makes the tasks that were put aside ready.
func (p *relays) pushAside() {
	all := p.aside
	p.aside = nil
	p.pushReady(all, -1)
}
