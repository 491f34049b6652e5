package cluster

import (
	"time"

	"github.com/tessera-la/tessera/exec/trace"
)

// Watch returns where the tasks of all jobs are, and the states of the nodes, for the page of package monitor.
// It does not wait: it returns what the nodes have answered to the query of an earlier call, and queries them
// again. Without calls of Watch the nodes are not queried.
func (d *Driver) Watch() (c trace.Cluster) {
	usage, own := d.Usage(), d.exec.status()
	nodes := d.allNodes()[:len(usage)]
	now := time.Now()
	d.queryNodes(nodes[1:], now, queryInterval)
	jobs := d.activeJobs()
	d.lock.Lock()
	since, calls := make([]time.Time, len(nodes)), make([]bool, len(nodes))
	for i, n := range nodes {
		since[i], calls[i] = n.since, n.workers > 0
	}
	d.lock.Unlock()
	d.placing.Lock()
	defer d.placing.Unlock()
	nodes[0].status, nodes[0].statusAt = own, now
	at := map[string]int{} // by name, in c.Nodes
	for i, n := range nodes {
		if !calls[i] { // it never was an agent
			continue
		}
		used := &usage[i]
		shown := trace.Node{
			Name: n.name, Lost: used.Lost, Since: now.Sub(since[i]), Workers: used.Workers, Sent: n.sent, Ended: n.ended,
			Memory: used.Memory, In: used.In, Out: used.Out, Work: used.Busy, Starve: used.Starving,
		}
		if !shown.Lost {
			if n.statusAt.Before(n.queriedAt) {
				shown.Silent = now.Sub(n.queriedAt)
			}
			shown.Busy, shown.Waiting, shown.Held = n.status.Busy, n.status.Waiting, n.status.Held
			for _, j := range jobs {
				shown.Has += j.tasksOn(n)
			}
			shown.Waits = waitReasons(jobs, n)
			c.Counts.Running += int64(shown.Busy)
		}
		k, known := at[n.name]
		if !known {
			at[n.name], c.Nodes = len(c.Nodes), append(c.Nodes, shown)
			continue
		}
		old := &c.Nodes[k]
		shown.Losses = old.Losses + 1
		shown.Sent, shown.Ended, shown.In, shown.Out = shown.Sent+old.Sent, shown.Ended+old.Ended, shown.In+old.In, shown.Out+old.Out
		shown.Work, shown.Starve = shown.Work+old.Work, shown.Starve+old.Starve
		*old = shown
	}
	c.Again, c.Counts.Work = d.recomputed, d.experience.Work
	c.Counts.Submitted, c.Counts.Ended = d.pastTasks, d.pastTasks
	given := 0
	for _, j := range jobs {
		if j.number == 0 {
			continue
		}
		ready, flying := j.sched.Counts()
		given += flying
		if j.recovering {
			c.Again += int64(j.done)
			continue
		}
		c.Counts.Submitted += int64(j.count - j.past)
		c.Counts.Ended += int64(j.done - j.past)
		c.Counts.Ready += int64(ready + flying)
	}
	c.Counts.Attempts = c.Counts.Ended
	c.Counts.Running = min(c.Counts.Running, int64(given), c.Counts.Ready)
	c.Counts.Waiting = max(c.Counts.Submitted-c.Counts.Ended-c.Counts.Ready, 0)
	c.Counts.Ready -= c.Counts.Running
	return c
}

// queryInterval is the least time between two queries of Watch to a node.
const queryInterval = 200 * time.Millisecond
