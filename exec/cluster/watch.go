package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/transport"
)

// Watch returns where the tasks of all jobs stand, and the nodes: what the page of package
// monitor shows. It waits for nobody: what agents are at is what they have said since the
// last call, which has asked them. Nothing is asked or sent as long as nobody calls.
func (d *Driver) Watch() (c trace.Cluster) {
	usage, own := d.Usage(), d.exec.state()
	nodes := d.now()[:len(usage)]
	now := time.Now()
	d.look(nodes[1:], now)
	d.lock.Lock()
	jobs := maps.Clone(d.jobs)
	since, calls := make([]time.Time, len(nodes)), make([]bool, len(nodes))
	for i, n := range nodes {
		since[i], calls[i] = n.since, n.workers > 0
	}
	d.lock.Unlock()
	d.placing.Lock()
	defer d.placing.Unlock()
	nodes[0].said, nodes[0].saidAt = own, now
	at := map[string]int{} // by name, in c.Nodes
	for i, n := range nodes {
		if !calls[i] { // it was no agent ever
			continue
		}
		u := &usage[i]
		x := trace.Node{Name: n.name, Lost: u.Lost, Since: now.Sub(since[i]), Workers: u.Workers, Sent: n.sent, Ended: n.ended, Memory: u.Memory, In: u.In, Out: u.Out, Work: u.Busy, Starve: u.Starving}
		if !x.Lost {
			if n.saidAt.Before(n.looked) {
				x.Silent = now.Sub(n.looked)
			}
			x.Busy, x.Waiting, x.Held = n.said.Busy, n.said.Waiting, n.said.Held
			for _, j := range jobs {
				x.Has += j.has(n)
			}
			x.Waits = waits(jobs, n)
			c.Counts.Running += int64(x.Busy)
		}
		k, known := at[n.name]
		if !known {
			at[n.name], c.Nodes = len(c.Nodes), append(c.Nodes, x)
			continue
		}
		old := &c.Nodes[k]
		x.Losses = old.Losses + 1
		x.Sent, x.Ended, x.In, x.Out = x.Sent+old.Sent, x.Ended+old.Ended, x.In+old.In, x.Out+old.Out
		x.Work, x.Starve = x.Work+old.Work, x.Starve+old.Starve
		*old = x
	}
	c.Again = d.again
	c.Counts.Submitted, c.Counts.Ended = d.past, d.past
	given := 0
	for _, j := range jobs {
		if j.number == 0 {
			continue
		}
		ready, flying := j.sched.held()
		given += flying
		if j.again {
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

// lookAgain is how long a node is not asked again what it is at.
const lookAgain = 200 * time.Millisecond

// look asks those nodes what they are at that are there and have answered.
func (d *Driver) look(nodes []*node, now time.Time) {
	d.placing.Lock()
	defer d.placing.Unlock()
	for _, n := range nodes {
		if d.gone(n) == nil && now.Sub(n.looked) >= lookAgain && (n.looked.IsZero() || n.saidAt.After(n.looked)) {
			n.looked = now
			n.out.add(func() []byte { return encode(kindLook, look{}) })
		}
	}
}

// has returns how many tasks of the job a node has.
func (p *placement) has(n *node) int {
	if i := p.index(n); p.number != 0 && !p.sched.absent(i) {
		return p.sched.seats[i].has
	}
	return 0
}

// waitsMost is how many lines say what a node waits for.
const waitsMost = 4

// waits returns what a node that has something to spare waits for: operands of its tasks, or
// why it has no tasks.
func waits(jobs map[uint64]*job, n *node) (lines []string) {
	for _, t := range n.said.Tasks {
		j := jobs[t.Job]
		if t.Stage != stageWaits || j == nil || len(lines) >= waitsMost {
			continue
		}
		if f := j.flight(n, t.ID); f != nil {
			lines = append(lines, fmt.Sprintf("%s, %s: task %d, %s", j.wanted(f, t.Wants), t.For.Round(time.Microsecond), t.ID, f.task.Op.OpName()))
		}
	}
	if len(lines) > 0 || n.said.Busy >= n.workers {
		return lines
	}
	for _, number := range slices.Sorted(maps.Keys(jobs)) {
		j := jobs[number]
		i := j.index(n)
		switch {
		case j.number == 0 || i < 0 || len(lines) >= waitsMost:
		case j.done == j.count && j.sealed:
			lines = append(lines, "nothing: all tasks have ended, and what the program gets is brought to it")
		case j.done == j.count:
			lines = append(lines, "the program to submit tasks")
		default:
			if why := j.sched.idles(i); why != "" {
				lines = append(lines, why)
			}
		}
	}
	return slices.Compact(lines)
}

// flight returns a task that a node has been given, nil if it has not, or not any more.
func (p *placement) flight(n *node, id uint64) *flight {
	if p.number == 0 {
		return nil
	}
	if f := p.sched.flying[graph.TaskID(id)]; f != nil && f.node == p.index(n) {
		return f
	}
	return nil
}

// wanted says which operands of a task are on their way, and who has them.
func (p *placement) wanted(f *flight, refs []transport.Ref) string {
	var all []string
	for k := range f.task.Len() {
		e := p.data[f.task.Operand(k).Datum]
		if !slices.Contains(refs, e.ref) {
			continue
		}
		var from []string
		for _, h := range e.holders {
			if h != f.node {
				from = append(from, p.nodes[h].name)
			}
		}
		text := e.called()
		if len(from) > 0 {
			text += " from " + strings.Join(from, " or ")
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}
