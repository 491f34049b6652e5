package cluster

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// fleet is the nodes of a driver, and what its jobs share.
type fleet struct {
	opt   Options
	known known
	exec  *executor // of this node

	placing         sync.Mutex // guards the placements of all jobs, and what follows
	directory       core.Directory
	experience      core.Experience
	kept            map[any]*core.Entry          // by value: data that stay on nodes between jobs
	starving        map[any]func()               // by job that waits for memory which others use: its place
	lastName        uint32                       // number of the last invented name
	jobsBegun       uint64                       // number of jobs
	tasksSinceRound int                          // tasks that have ended since the last round of two replicas
	workSinceRound  time.Duration                // time of ended jobs since the last round
	lastRound       time.Time                    // when the last round began
	replicasLost    bool                         // some replicas of the last round are on one node only
	recordsOverdue  bool                         // there have been too many records of tasks
	jobData         map[any]map[*core.Entry]bool // by job in progress: its data
	tasks           graph.Pool                   // memory for tasks of jobs
	busy            map[int]bool                 // nodes with a rank of a group
	pastTasks       int64                        // tasks of ended jobs
	lastFailedFetch NodeLostError                // the holders that last failed to give a value
	recomputed      int64                        // tasks of recoveries

	lock     sync.Mutex // guards what follows; the locks of outboxes are taken under it
	nodes    []*node    // all that have joined, the driver first; a node that comes back is a new one
	record   recording
	last     uint64        // number of the last job
	epochs   uint64        // the last epoch
	lastLoss NodeLostError // the last node to be lost
	losses   int           // number of lost nodes
	changed  chan struct{} // closed and replaced when a node comes or goes
	closed   bool
}

// node is what the driver knows of a node.
//
//	new ── call ──► unavailable ── hello of its epoch ──► available ── it leaves ──► givenUp
//	                     └────────────── it leaves ────────────────────────────────────┘
//
// A name that is called again gets a new node, with a new epoch.
type node struct {
	index       int
	name        string
	epoch       uint64 // distinguishes nodes of one name; Driver.placing and fleet.lock guard it
	workers     int
	out         *outbox
	program     string      // Options.Program of the node
	offer       *core.Offer // nil before its hello
	jobs        int         // of other drivers, when it joined
	unavailable error       // nil if the node is available; fleet.lock guards it and what follows
	givenUp     bool        // it has left, for good
	elsewhere   *hello      // of a node that is an agent only of another one; nil otherwise
	row         int         // of its first worker in Options.Trace
	clock       clock       // its clock, compared with the driver's
	since       time.Time   // when it became available or unavailable

	ran    map[ranKey]*Ran // tasks that have ended well; fleet.placing guards what follows
	flows  map[flowKey]*Flow
	memory core.Memory
	peak   int64 // the most bytes of operands that it has reported

	busy, starving time.Duration // as it has reported

	sent, ended int64     // number of tasks
	status      status    // its last answer to a query …
	statusAt    time.Time // … and when that came
	queriedAt   time.Time // when it was last asked
}

// newNode returns a node of which only the name is known.
func newNode(index int, name string) *node {
	return &node{
		index: index, name: name, memory: core.Memory{Node: index},
		ran: map[ranKey]*Ran{}, flows: map[flowKey]*Flow{},
	}
}

// traceRows returns the node's rows in a recording.
func (n *node) traceRows() traceRows { return traceRows{n.row, n.workers, n.clock.offset} }

// clock is what is known of the clock of a node. A time of the node plus offset is the time of the driver.
// offset comes from the answer with the shortest delay.
type clock struct {
	offset, delay int64
	heard         int // number of answers
}

// clockSamples is how many times the driver asks a node for its time. Several answers help, since most of the
// error of one answer is the time for which the message waited on its way.
const clockSamples = 8

// update takes an answer that arrived at now. With d the delay of the way there and back, the error of the
// offset is at most d/2.
func (c *clock) update(m *hello, now int64) {
	delay := now - m.Called - (m.Said - m.Heard)
	if c.heard == 0 || delay < c.delay {
		c.offset, c.delay = (m.Called-m.Heard+now-m.Said)/2, delay
	}
	c.heard++
}

// newFleet returns a fleet with one node, this one.
func newFleet(opt Options, k known) *fleet {
	own := newNode(0, opt.Transport.Self())
	own.offer, own.since = ownOffer(opt.Ops, opt.Runtime), time.Now()
	own.workers = own.offer.Workers()
	// The driver's own tasks go through an outbox, too; its messages are all nil.
	own.out = newOutbox(opt.Transport, own.name, func(error) {})
	f := &fleet{
		opt: opt, known: k, exec: newExecutor(&opt, k, newSharedFetches()),
		kept: map[any]*core.Entry{}, starving: map[any]func(){}, jobData: map[any]map[*core.Entry]bool{},
		busy: map[int]bool{}, nodes: []*node{own}, changed: make(chan struct{}),
		last: rand.Uint64(), // agents know jobs by number, and two drivers may share an agent
	}
	f.record.Recorder, f.record.began = opt.Trace, f.exec.meter.began
	own.row = f.record.addRows(own.name, own.workers)
	f.exec.meter.trace(opt.Trace != nil)
	return f
}

// unavailable returns why a node is unavailable, nil if it is available.
func (f *fleet) unavailable(n *node) error {
	f.lock.Lock()
	defer f.lock.Unlock()
	return n.unavailable
}

// isElsewhere reports whether a node is an agent of another node only.
func (f *fleet) isElsewhere(n *node) bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	return n.elsewhere != nil
}

// allNodes returns the nodes that have joined, the driver first.
func (f *fleet) allNodes() []*node {
	f.lock.Lock()
	defer f.lock.Unlock()
	return slices.Clone(f.nodes)
}

// node returns a node by its number.
func (f *fleet) node(index int) *node {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.nodes[index]
}

// latestLoss returns the last loss of a node.
func (f *fleet) latestLoss() *NodeLostError {
	f.lock.Lock()
	defer f.lock.Unlock()
	e := f.lastLoss
	return &e
}

// lossCount returns how many nodes have been lost.
func (f *fleet) lossCount() int {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.losses
}

// assignEpoch gives n a new epoch. Epochs grow, also from one process of a driver to the next. The caller holds
// the lock, and also placing if n is among the nodes of the fleet.
func (f *fleet) assignEpoch(n *node) {
	f.epochs = max(f.epochs+1, uint64(time.Now().UnixNano()))
	n.epoch = f.epochs
}

// exposedTime returns how long a job that began at some time has worked since the last round of
// replicas. The caller holds placing.
func (f *fleet) exposedTime(began, now time.Time) time.Duration {
	if f.lastRound.After(began) {
		began = f.lastRound
	}
	return now.Sub(began)
}

// nodeNamed returns the latest node of a name, nil if there is none. The caller holds the lock.
func (f *fleet) nodeNamed(name string) *node {
	for i := len(f.nodes) - 1; i > 0; i-- {
		if f.nodes[i].name == name {
			return f.nodes[i]
		}
	}
	return nil
}

// notify wakes goroutines that wait for nodes. The caller holds the lock.
func (f *fleet) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// addUsage adds the figures of a report to those of its node. titles has the names of matrices, by titleOf. The
// caller holds placing.
func (f *fleet) addUsage(n *node, m *ended, titles map[[2]uint64]string) {
	n.peak, n.busy, n.starving = max(n.peak, m.Peak), max(n.busy, m.Busy), max(n.starving, m.Starving)
	for i := range m.Copies {
		for _, from := range f.allNodes() {
			if c := &m.Copies[i]; from.name == c.From && from.workers > 0 {
				f.record.copied(from.traceRows(), n.traceRows(), c)
				break
			}
		}
	}
	for _, x := range m.Flows {
		k := flowKey{x.From, titles[[2]uint64{x.Job, uint64(x.Matrix)}]}
		to := n.flows[k]
		if to == nil {
			to = &Flow{From: k.from, Data: k.data}
			n.flows[k] = to
		}
		to.Values, to.Bytes = to.Values+x.Values, to.Bytes+x.Bytes
		to.Took, to.Waited = to.Took+x.Took, to.Waited+x.Waited
	}
}

// addRun counts a task that has ended well.
func (n *node) addRun(op string, e *end) {
	k := ranKey{op, e.Version}
	r := n.ran[k]
	if r == nil {
		r = &Ran{Op: op, Version: e.Version}
		n.ran[k] = r
	}
	r.Tasks++
	r.Took += e.Took
}
