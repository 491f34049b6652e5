package faulty

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tessera-la/tessera/transport"
)

func (e *NodeError) Error() string { return fmt.Sprintf("faulty: node %q %s", e.Node, e.Problem) }

// New returns a network without nodes.
func New(opt Options) *Network {
	if opt.Patience == 0 {
		opt.Patience = 100 * time.Millisecond
	}
	return &Network{
		opt: opt, below: transport.NewNetwork(), nodes: map[string]*node{},
		cut: map[pair]struct{}{}, valuesCut: map[pair]struct{}{},
		stalled: map[string]time.Time{}, apart: map[pair]*apart{}, changed: make(chan struct{}),
	}
}

// change changes the cuts and stalls, and wakes goroutines that wait for a change.
func (n *Network) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	n.look()
	close(n.changed)
	n.changed = make(chan struct{})
}

// look begins and ends the separations of nodes. The caller holds mu.
func (n *Network) look() {
	for a, x := range n.nodes {
		for b, y := range n.nodes {
			if a >= b || n.opt.Timeout == 0 {
				continue
			}
			k := pair{a, b}
			s, shut := n.apart[k], !n.open(a, b) || !n.open(b, a)
			switch {
			case shut && s == nil:
				s = &apart{}
				s.timer = time.AfterFunc(n.opt.Timeout, func() { n.part(k, s) })
				n.apart[k] = s
			case !shut && s != nil:
				s.timer.Stop()
				delete(n.apart, k)
				x.tellJoined(b)
				y.tellJoined(a)
			}
		}
	}
}

// part lets two nodes see each other leave, if they are still apart.
func (n *Network) part(k pair, s *apart) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.apart[k] != s {
		return
	}
	s.told = true
	for i := range k {
		x, other := n.nodes[k[i]], k[1-i]
		x.tellLeft(other, errSilent)
		x.unlink(other)
	}
}

// Cut stops everything between the nodes of a and those of b, in both directions.
func (n *Network) Cut(a, b []string) {
	n.CutOneWay(a, b)
	n.CutOneWay(b, a)
}

// CutOneWay stops everything from the nodes of a to those of b.
func (n *Network) CutOneWay(a, b []string) { n.change(func() { set(n.cut, a, b) }) }

// CutValues stops values between the nodes of a and those of b. Messages pass, as over a path that
// drops large packets.
func (n *Network) CutValues(a, b []string) {
	n.change(func() { set(n.valuesCut, a, b); set(n.valuesCut, b, a) })
}

func set(m map[pair]struct{}, a, b []string) {
	for _, from := range a {
		for _, to := range b {
			m[pair{from, to}] = struct{}{}
		}
	}
}

// Heal ends all cuts.
func (n *Network) Heal() { n.change(func() { clear(n.cut); clear(n.valuesCut) }) }

// Stall stops everything in and out of a node for a time. Messages are held back and passed on
// afterwards.
func (n *Network) Stall(node string, d time.Duration) {
	n.change(func() { n.stalled[node] = time.Now().Add(d) })
	time.AfterFunc(d, func() { n.change(func() {}) })
}

// Crash ends a node at once. Nothing goes in or out any more, its published values are gone, the
// other nodes see it leave, and it sees them leave. The caller still has to close it. The error is
// a *NodeError.
func (n *Network) Crash(node string) error {
	n.mu.Lock()
	x := n.nodes[node]
	if x == nil || !x.started || x.hasEnded() {
		n.mu.Unlock()
		return &NodeError{node, "is not there"}
	}
	x.crashed = true
	x.end()
	for other := range n.nodes {
		x.unlink(other)
		x.tellLeft(other, errCrashed)
		n.nodes[other].unlink(node)
	}
	n.mu.Unlock()
	go x.below.Close() // Close waits for handlers
	return nil
}

// Node returns a new node, which joins when it is started. The error is a *transport.NameError.
func (n *Network) Node(name string) (transport.Transport, error) {
	below, err := n.below.Node(name)
	if err != nil {
		return nil, err
	}
	x := &node{
		net: n, below: below, events: transport.NewEvents(),
		ended: make(chan struct{}), closed: make(chan struct{}),
		present: map[string]struct{}{}, visible: map[string]struct{}{},
		links: map[string]*link{}, luck: map[string]*rand.Rand{},
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[name] = x
	n.look()
	return x, nil
}
