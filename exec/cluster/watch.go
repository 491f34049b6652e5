package cluster

import (
	"time"

	"github.com/tessera-la/tessera/exec/trace"
)

// Watch returns where the tasks of all jobs are, and the states of the nodes, for the page of package monitor.
// It does not wait: it returns what the nodes have answered to the query of an earlier call, and queries them
// again. Without calls of Watch the nodes are not queried.
func (d *Driver) Watch() (c trace.Cluster) {
	nodes, usage := d.usage()
	own, now := d.exec.status(), time.Now()
	d.queryNodes(nodes[1:], now, queryInterval)
	jobs := d.activeJobs()
	d.placing.Lock()
	defer d.placing.Unlock()
	nodes[0].status, nodes[0].statusAt = own, now
	at := map[string]int{} // by name, in c.Nodes
	for i, n := range nodes {
		if n.workers == 0 { // it never was an agent
			continue
		}
		shown := d.watchNode(n, &usage[i], jobs, now)
		if k, known := at[n.name]; known {
			addLost(&shown, &c.Nodes[k])
			c.Nodes[k] = shown
		} else {
			at[n.name], c.Nodes = len(c.Nodes), append(c.Nodes, shown)
		}
	}
	d.countTasks(&c, jobs)
	return c
}

// watchNode returns the state of a node. The caller holds placing.
func (d *Driver) watchNode(n *node, used *Usage, jobs map[uint64]*job, now time.Time) trace.Node {
	shown := trace.Node{
		Name: n.name, Lost: used.Lost, Since: now.Sub(d.sinceOf(n)), Workers: used.Workers, Sent: n.sent, Ended: n.ended,
		Memory: used.Memory, In: used.In, Out: used.Out, Work: used.Busy, Starve: used.Starving,
	}
	if shown.Lost {
		return shown
	}
	if n.statusAt.Before(n.queriedAt) {
		shown.Silent = now.Sub(n.queriedAt)
	}
	shown.Busy, shown.Waiting, shown.Held = n.status.Busy, n.status.Waiting, n.status.Held
	for _, j := range jobs {
		shown.Has += j.tasksOn(n)
	}
	shown.Waits = waitReasons(jobs, n)
	return shown
}

// sinceOf returns when a node became available or unavailable.
func (f *fleet) sinceOf(n *node) time.Time {
	f.lock.Lock()
	defer f.lock.Unlock()
	return n.since
}

// addLost adds the figures of a lost node to those of n, a node of the same name that takes its place.
func addLost(n, lost *trace.Node) {
	n.Losses = lost.Losses + 1
	n.Sent += lost.Sent
	n.Ended += lost.Ended
	n.In += lost.In
	n.Out += lost.Out
	n.Work += lost.Work
	n.Starve += lost.Starve
}

// countTasks sets c.Counts and c.Again, once c has its nodes. The caller holds placing.
func (d *Driver) countTasks(c *trace.Cluster, jobs map[uint64]*job) {
	c.Again = d.recomputed
	n := trace.Counts{Submitted: d.pastTasks, Ended: d.pastTasks, Work: d.experience.Work}
	sent := 0 // tasks that nodes have and that have not ended
	for _, j := range jobs {
		if j.number == 0 {
			continue
		}
		ready, inFlight := j.sched.Counts()
		sent += inFlight
		if j.recovering {
			c.Again += int64(j.done)
			continue
		}
		n.Submitted += int64(j.count - j.past)
		n.Ended += int64(j.done - j.past)
		n.Ready += int64(ready + inFlight)
	}
	for i := range c.Nodes {
		n.Running += int64(c.Nodes[i].Busy)
	}
	// The nodes counted their busy workers earlier, when some of them may have had tasks that have ended since.
	n.Running = min(n.Running, int64(sent), n.Ready)
	n.Ready -= n.Running
	n.Waiting = max(n.Submitted-n.Ended-n.Ready-n.Running, 0)
	n.Attempts = n.Ended
	c.Counts = n
}

// queryInterval is the least time between two queries of Watch to a node.
const queryInterval = 200 * time.Millisecond
