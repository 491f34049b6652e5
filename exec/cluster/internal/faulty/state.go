package faulty

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tessera-la/tessera/transport"
)

// Options says what goes wrong at random. The zero value is a network without faults, in which no
// node notices a cut.
type Options struct {
	// Seed determines all random events.
	Seed uint64
	// Delay is the longest time that a message takes; each draws its own, and one in 50
	// takes twenty times as long. Messages stay in order.
	Delay time.Duration
	// FetchLoss and FetchDamage are the shares of fetches that end with an
	// *transport.UnreachableError, and with a *transport.ChecksumError.
	FetchLoss, FetchDamage float64
	// Patience is how long a fetch waits for a node that is cut off or stalled; 0 means 100 ms.
	Patience time.Duration
	// Timeout is after how long two nodes that cannot reach each other see each other leave; 0
	// means never.
	Timeout time.Duration
}

// NodeError says that a node is in no state for a call.
type NodeError struct{ Node, Problem string }

// pair is two nodes: from and to, or for both directions in the order of their names.
type pair [2]string

func both(a, b string) pair { return pair{min(a, b), max(a, b)} }

// Network connects nodes, with faults. It is safe for concurrent use.
type Network struct {
	opt   Options
	below *transport.Network // has the nodes and the values

	mu        sync.Mutex // held before the leaves of package transport
	nodes     map[string]*node
	cut       map[pair]struct{}    // from, to
	valuesCut map[pair]struct{}    // the same, for values only
	stalled   map[string]time.Time // until when
	apart     map[pair]*apart      // nodes between which nothing passes
	changed   chan struct{}        // closed and replaced when one of these changes
}

// apart is two nodes that are cut off from each other.
type apart struct {
	timer *time.Timer
	told  bool // both have been told that the other one has left
}

// node implements transport.Transport. Values and the presence of nodes come from the node of
// package transport below; messages do not.
type node struct {
	net     *Network
	below   transport.Transport
	events  *transport.Events
	handle  transport.Handler
	ended   chan struct{} // closed when the node crashes or is closed
	closed  chan struct{} // closed by Close; a crashed node still gets its events
	running sync.WaitGroup

	// Network.mu guards what follows.
	present map[string]struct{}   // nodes that are present below
	visible map[string]struct{}   // those of them that this one sees: see event
	links   map[string]*link      // to this node, by sender
	luck    map[string]*rand.Rand // random numbers for fetches, by the other node
	started bool
	crashed bool
}

// behind is the number of messages of one node that another may have to handle.
const behind = 64

// link holds the messages from one node to another, as long as they see each other.
type link struct {
	from, to *node
	queue    chan *parcel
	dropped  chan struct{} // closed when the messages held back are lost
	luck     *rand.Rand
	last     time.Time // when the last message arrives
}

// parcel is a message on its way.
type parcel struct {
	message []byte
	due     time.Time
}

var (
	errCrashed = errors.New("it has crashed")
	errSilent  = errors.New("it does not answer")
)

// open reports whether messages pass from a node to another. The caller holds mu.
func (n *Network) open(from, to string) bool {
	_, cut := n.cut[pair{from, to}]
	return !cut && !n.stalls(from) && !n.stalls(to)
}

// stalls reports whether a node is stalled. The caller holds mu.
func (n *Network) stalls(name string) bool {
	until, ok := n.stalled[name]
	return ok && time.Now().Before(until)
}

// hasEnded reports whether the node has crashed or is closed. The caller holds Network.mu.
func (x *node) hasEnded() bool {
	select {
	case <-x.ended:
		return true
	default:
		return false
	}
}

// end ends the node. The caller holds Network.mu.
func (x *node) end() {
	if !x.hasEnded() {
		close(x.ended)
	}
}

// tellJoined lets the node see another one, if that is present. The caller holds Network.mu.
func (x *node) tellJoined(other string) {
	_, present := x.present[other]
	if _, visible := x.visible[other]; present && !visible && !x.hasEnded() && !x.net.nodes[other].hasEnded() {
		x.visible[other] = struct{}{}
		x.events.Add(transport.Event{Node: other, Joined: true})
	}
}

// tellLeft lets the node see another one leave, unless it does not see that one. The caller holds Network.mu.
func (x *node) tellLeft(other string, err error) {
	if _, visible := x.visible[other]; visible {
		delete(x.visible, other)
		x.events.Add(transport.Event{Node: other, Err: err})
	}
}

// unlink drops the messages of another node that this one has not handled. The caller holds
// Network.mu.
func (x *node) unlink(from string) {
	if l := x.links[from]; l != nil {
		delete(x.links, from)
		close(l.dropped)
	}
}

// Self implements [transport.Transport].
func (x *node) Self() string { return x.below.Self() }
