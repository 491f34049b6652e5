package cluster

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// fleet is the nodes of a driver, and what jobs need of it.
type fleet struct {
	opt   Options
	known known
	exec  *executor // of this node

	placing sync.Mutex // guards the placements of all jobs, and what follows
	where   directory
	kept    map[any]*entry // by value: data that stay on nodes
	starved map[any]func() // places tasks of jobs that wait for memory which others use
	named   uint32         // names given to data that have none
	orders  uint64         // jobs begun

	lock   sync.Mutex    // guards what follows; the locks of outboxes are taken under it
	nodes  []*node       // that have joined, the driver first; a node that comes back is a new one
	last   uint64        // number of the last job
	left   NodeLostError // the last node to have gone
	news   chan struct{} // closed, and another one made, when a node comes or goes
	closed bool
}

// node is a node as the driver knows it.
type node struct {
	index   int
	name    string
	workers int
	out     *outbox
	gone    error // why it is of no use, or not yet; nil if it is there. fleet.lock guards it

	ran    map[string]int // tasks that have ended well, by op; fleet.placing guards what follows
	in     int64          // bytes that it was to fetch
	memory memory
	peak   int64 // bytes of the most operands that it has had, as it says

	busy, starving time.Duration // as it says
}

// newFleet returns a fleet with one node, this one.
func newFleet(opt Options, k known) *fleet {
	own := &node{name: opt.Transport.Self(), workers: len(opt.Runtime.Workers()), ran: map[string]int{}}
	// What the driver is to execute goes the way of all messages, and ends there.
	own.out = newOutbox(opt.Transport, own.name, func(error) {})
	return &fleet{
		opt: opt, known: k, exec: newExecutor(&opt, k, make(chan struct{}, fetches)), kept: map[any]*entry{}, starved: map[any]func(){}, nodes: []*node{own}, news: make(chan struct{}),
		last: rand.Uint64(), // two drivers may share agents, which know jobs by number
	}
}

// gone returns why a node is of no use, nil if it is there.
func (f *fleet) gone(n *node) error {
	f.lock.Lock()
	defer f.lock.Unlock()
	return n.gone
}

// now returns the nodes that there are now, the driver first.
func (f *fleet) now() []*node {
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

// why returns the last loss of a node.
func (f *fleet) why() *NodeLostError {
	f.lock.Lock()
	defer f.lock.Unlock()
	e := f.left
	return &e
}

// latest returns the latest node of that name, nil if there is none. The caller holds the
// lock.
func (f *fleet) latest(name string) *node {
	for i := len(f.nodes) - 1; i > 0; i-- {
		if f.nodes[i].name == name {
			return f.nodes[i]
		}
	}
	return nil
}

// changed tells those who wait for nodes. The caller holds the lock.
func (f *fleet) changed() {
	close(f.news)
	f.news = make(chan struct{})
}
