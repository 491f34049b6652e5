package cluster

import (
	"maps"
	"sync"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/internal/core"
)

// Driver is an exec.Runtime on the nodes of a cluster. It is safe for concurrent use.
//
// It knows the nodes; each job knows what it has on them. A node is available from its hello, its
// answer to the driver's call, until the transport says that it has left or a message cannot be
// sent to it. A node that comes back is a new node, without data. Jobs in progress use it, too.
type Driver struct {
	*fleet
	jobs           map[uint64]*job // by number; fleet.lock guards it
	dog            *watchdog       // nil if there is no watchdog
	spareEnds      sync.Pool       // of []end: memory for reports
	onBelowChanged func()          // of an agent's driver: called when nodes below it come or go; nil on others
	above          func() []string // of an agent's driver: what its calls say of nodes above; nil on others
	calling        sync.Mutex      // held by call, which takes placing and fleet.lock inside it
	deaf           error           // why other nodes cannot reach this one, nil if they can; fleet.lock guards it
}

// newDriver returns a driver that gets no messages and events yet.
func newDriver(opt Options, k known) *Driver {
	return &Driver{fleet: newFleet(opt, k), jobs: map[uint64]*job{}}
}

// activeJobs returns the jobs that have tasks, by number.
func (d *Driver) activeJobs() map[uint64]*job {
	d.lock.Lock()
	defer d.lock.Unlock()
	return maps.Clone(d.jobs)
}

// beginJob implements [host].
func (d *Driver) beginJob(j *job) (number uint64, err error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.closed {
		return 0, exec.ErrClosed
	}
	if d.deaf != nil {
		return 0, d.deaf
	}
	d.last++
	d.jobs[d.last] = j
	return d.last, nil
}

// endJob implements [host].
func (d *Driver) endJob(number uint64, nodes []*node, data []*core.Entry) {
	d.lock.Lock()
	delete(d.jobs, number)
	d.lock.Unlock()
	d.forget(number, nodes, data)
}

// forget makes nodes forget a job, or a set of data. The memory of data counts as free once the message
// is made: a node gets tasks that are assigned later after the message.
func (d *Driver) forget(number uint64, nodes []*node, data []*core.Entry) {
	d.placing.Lock()
	for _, n := range nodes[1:] {
		n.memory.PendingForgets++
		n.out.add(func() []byte {
			d.placing.Lock()
			defer d.placing.Unlock()
			n.memory.PendingForgets--
			d.directory.ForgetJob(n.index, number)
			for _, e := range data {
				n.memory.Forget(e)
			}
			d.retryStarving(nil)
			return encode(kindForget, forget{Job: number})
		})
	}
	d.directory.ForgetJob(0, number)
	d.placing.Unlock()
	d.exec.endJob(number)
}
