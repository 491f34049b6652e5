package faulty

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// Options says what goes wrong by chance. Its zero value is a network without faults.
type Options struct {
	// Seed is what all chance comes from.
	Seed uint64
	// Loss, Double, Reorder and Damage are the shares of messages to which that
	// happens, from 0 to 1. One that is reordered is held back, and later ones pass.
	Loss, Double, Reorder, Damage float64
	// Delay is the longest time that a message takes; each draws its own. Messages
	// stay in order, but for those that are reordered.
	Delay time.Duration
	// FetchLoss and FetchDamage are the shares of fetches that end with an
	// *transport.UnreachableError, and with a *transport.ChecksumError.
	FetchLoss, FetchDamage float64
	// Patience is how long a fetch waits for a node that is cut off or stalled; 0
	// means 100 ms.
	Patience time.Duration
}

// OptionsError says what is wrong with an Options.
type OptionsError struct{ Problem string }

func (e *OptionsError) Error() string { return "faulty: " + e.Problem }

// NodeError says that a node is not in the network, or not in a state for what was asked.
type NodeError struct{ Node, Problem string }

func (e *NodeError) Error() string { return fmt.Sprintf("faulty: node %q %s", e.Node, e.Problem) }

// Counts is what has happened so far.
type Counts struct {
	Messages                                    int64 // that were sent to other nodes
	Lost, Doubled, Reordered, Damaged           int64 // by chance
	CutOff                                      int64 // lost at a cut, or with a node
	Fetches, FetchesLost, FetchesDamaged, Fails int64 // Fails: for a cut, a stall or a crash
}

// counters are Counts while they change.
type counters struct {
	messages, lost, doubled, reordered, damaged, cutOff atomic.Int64
	fetches, fetchesLost, fetchesDamaged, fails         atomic.Int64
}

// Network puts faults between nodes. It is safe for concurrent use.
type Network struct {
	opt    Options
	counts counters

	mu      sync.Mutex // held before that of a node
	ports   map[string]*port
	cut     map[[2]string]struct{} // from, to
	large   map[[2]string]struct{} // the same, for values only
	stalled map[string]time.Time   // until when
	changed chan struct{}          // closed, and replaced, when one of these changes
}

// New returns a network without nodes. The error is an *OptionsError.
func New(opt Options) (*Network, error) {
	for _, share := range []float64{opt.Loss, opt.Double, opt.Reorder, opt.Damage, opt.FetchLoss, opt.FetchDamage} {
		if !(share >= 0 && share <= 1) {
			return nil, &OptionsError{fmt.Sprintf("a share is %v, which is not from 0 to 1", share)}
		}
	}
	if opt.Delay < 0 || opt.Patience < 0 {
		return nil, &OptionsError{"Delay and Patience must not be negative"}
	}
	if opt.Patience == 0 {
		opt.Patience = 100 * time.Millisecond
	}
	return &Network{opt: opt, ports: map[string]*port{}, cut: map[[2]string]struct{}{}, large: map[[2]string]struct{}{}, stalled: map[string]time.Time{}, changed: make(chan struct{})}, nil
}

// Node returns a node that does what t does, with faults. It owns t, which is not started
// yet. The error is a *NodeError if the network has a node of that name.
func (n *Network) Node(t transport.Transport) (transport.Transport, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ports[t.Self()] != nil {
		return nil, &NodeError{t.Self(), "is in the network"}
	}
	p := &port{net: n, below: t, there: map[string]struct{}{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.node = newNode(p)
	n.ports[t.Self()] = p
	return p.node, nil
}

// Count returns what has happened so far.
func (n *Network) Count() Counts {
	c := &n.counts
	return Counts{
		Messages: c.messages.Load(), Lost: c.lost.Load(), Doubled: c.doubled.Load(), Reordered: c.reordered.Load(), Damaged: c.damaged.Load(),
		CutOff: c.cutOff.Load(), Fetches: c.fetches.Load(), FetchesLost: c.fetchesLost.Load(), FetchesDamaged: c.fetchesDamaged.Load(), Fails: c.fails.Load(),
	}
}

// change changes what goes where, and wakes who waits for that.
func (n *Network) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	close(n.changed)
	n.changed = make(chan struct{})
}

// Cut lets nothing go between the nodes of a and those of b, in either direction. No node
// is told.
func (n *Network) Cut(a, b []string) {
	n.CutOneWay(a, b)
	n.CutOneWay(b, a)
}

// CutOneWay lets nothing go from the nodes of a to those of b.
func (n *Network) CutOneWay(a, b []string) {
	n.change(func() {
		for _, from := range a {
			for _, to := range b {
				n.cut[[2]string{from, to}] = struct{}{}
			}
		}
	})
}

// CutValues lets no value go between the nodes of a and those of b. Messages do, as over a path that
// drops large packets.
func (n *Network) CutValues(a, b []string) {
	n.change(func() {
		for _, from := range a {
			for _, to := range b {
				n.large[[2]string{from, to}], n.large[[2]string{to, from}] = struct{}{}, struct{}{}
			}
		}
	})
}

// Heal ends all cuts.
func (n *Network) Heal() { n.change(func() { clear(n.cut); clear(n.large) }) }

// Stall has nothing go in or out of a node for a time. What is sent meanwhile is held back,
// and goes on afterwards. No node is told.
func (n *Network) Stall(node string, d time.Duration) {
	n.change(func() { n.stalled[node] = time.Now().Add(d) })
}

// Crash ends a node at once: nothing goes in or out any more, what it had published is
// gone, and the others see it leave. What is on its way from it comes only if it is
// restarted in time. It still has to be closed, or restarted. The error is a *NodeError.
func (n *Network) Crash(node string) error {
	n.mu.Lock()
	p := n.ports[node]
	if p == nil || p.crashed {
		n.mu.Unlock()
		return &NodeError{node, "is not there"}
	}
	p.crashed = true
	p.node.end()
	for name, o := range n.ports {
		if _, ok := o.there[node]; ok && name != node {
			o.node.events.Add(transport.Event{Node: node, Err: errCrashed})
		}
	}
	close(n.changed)
	n.changed = make(chan struct{})
	n.mu.Unlock()
	p.node.forget()
	return nil
}

// errCrashed is why others see a node leave that has crashed.
var errCrashed = errors.New("it has crashed")

// Restart returns a new node in place of one that has crashed. It has the name of that one
// and nothing else, and joins when it is started. What was sent to the old one may still
// reach it. The error is a *NodeError.
func (n *Network) Restart(node string) (transport.Transport, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.ports[node]
	if p == nil || !p.crashed {
		return nil, &NodeError{node, "has not crashed"}
	}
	if p.closed {
		return nil, &NodeError{node, "is closed"}
	}
	p.crashed, p.joined = false, false
	p.node = newNode(p)
	return p.node, nil
}

// up reports whether a node has been started and has not crashed. The caller holds mu. A
// node that is no node of the network is below only, and has no faults of its own.
func (n *Network) up(name string) bool {
	p := n.ports[name]
	return p == nil || p.joined && !p.crashed
}

// way is what a message finds between two nodes.
type way int

const (
	open way = iota
	shut     // at a cut
	held     // at a stall, for now
)

// look returns the state of a way; if it is held, at most how long, and in any case a
// channel that is closed when that may have changed.
func (n *Network) look(from, to string) (w way, d time.Duration, changed chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.cut[[2]string{from, to}]; ok {
		return shut, 0, n.changed
	}
	for _, name := range []string{from, to} {
		if until, ok := n.stalled[name]; ok {
			d = max(d, time.Until(until))
		}
	}
	if d > 0 {
		return held, d, n.changed
	}
	return open, 0, n.changed
}

// await waits until a way is open, or shut, or ctx ends.
func (n *Network) await(ctx context.Context, from, to string) (way, error) {
	for {
		w, d, changed := n.look(from, to)
		if w != held {
			return w, nil
		}
		timer := time.NewTimer(d)
		select {
		case <-ctx.Done():
			timer.Stop()
			return w, context.Cause(ctx)
		case <-changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// awaitOpen waits until the ways in both directions are open, for as long as fetches do.
// The error says why they are not.
func (n *Network) awaitOpen(ctx context.Context, a, b string) error {
	patience := time.NewTimer(n.opt.Patience)
	defer patience.Stop()
	for {
		n.mu.Lock()
		_, large := n.large[[2]string{a, b}]
		n.mu.Unlock()
		there, d, changed := n.look(a, b)
		back, e, _ := n.look(b, a)
		if large {
			there = shut
		}
		if there == open && back == open {
			return nil
		}
		if d = max(d, e); there == shut || back == shut {
			d = n.opt.Patience
		}
		timer := time.NewTimer(d)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-patience.C:
			timer.Stop()
			return errSilent
		case <-changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// errSilent is why a fetch fails at a cut or a stall.
var errSilent = errors.New("it does not answer")
