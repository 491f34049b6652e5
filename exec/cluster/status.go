package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
)

// What nodes are doing, as they report it to the driver. Except for queryNodes, the caller holds
// fleet.placing.

// queryNodes asks present nodes for their status, unless an answer is outstanding or they were
// asked less than again ago.
func (f *fleet) queryNodes(nodes []*node, now time.Time, again time.Duration) {
	f.placing.Lock()
	defer f.placing.Unlock()
	for _, n := range nodes {
		if f.unavailable(n) == nil && now.Sub(n.queriedAt) >= again && !n.statusAt.Before(n.queriedAt) {
			n.queriedAt = now
			n.out.add(func() []byte { return encode(kindQuery, query{}) })
		}
	}
}

// tasksOn returns how many tasks of the job a node has.
func (p *placement) tasksOn(n *node) int {
	if i := p.index(n); i >= 0 && p.number != 0 && !p.sched.Absent(i) {
		return p.sched.Nodes[i].Tasks
	}
	return 0
}

// maxReasons bounds the lines that say what a node waits for.
const maxReasons = 4

// waitReasons returns what a node with idle workers waits for: operands of its tasks, or why it has
// no tasks.
func waitReasons(jobs map[uint64]*job, n *node) (lines []string) {
	for _, t := range n.status.Tasks {
		j := jobs[t.Job]
		if t.Stage != stageWaits || j == nil || len(lines) >= maxReasons {
			continue
		}
		if f := j.flight(n, t.ID); f != nil {
			lines = append(lines, fmt.Sprintf("%s, %s: task %d, %s",
				j.describeWants(f, t.Wants), t.For.Round(time.Microsecond), t.ID, f.Task.Op.OpName()))
		}
	}
	if len(lines) > 0 || n.status.Busy >= n.workers {
		return lines
	}
	for _, number := range slices.Sorted(maps.Keys(jobs)) {
		j := jobs[number]
		i := j.index(n)
		switch {
		case j.number == 0 || i < 0 || len(lines) >= maxReasons:
		case j.done == j.count && j.sealed:
			lines = append(lines, "nothing: all tasks have ended, and what the program gets is brought to it")
		case j.done == j.count:
			lines = append(lines, "the program to submit tasks")
		default:
			if why := j.sched.WhyIdle(i); why != "" {
				lines = append(lines, why)
			}
		}
	}
	return slices.Compact(lines)
}

// flight returns the flight of a task on a node, nil if the node does not have the task.
func (p *placement) flight(n *node, id uint64) *core.Flight {
	if p.number == 0 {
		return nil
	}
	if f := p.sched.InFlight.Of(uint64(id)); f != nil && f.Node == p.index(n) {
		return f
	}
	return nil
}

// describeWants says which operands of a task are on their way, and from which nodes.
func (p *placement) describeWants(f *core.Flight, refs []transport.Ref) string {
	var all []string
	for k := range f.Task.Len() {
		e := p.data.Of(f.Task.Operand(k).Datum)
		if !slices.Contains(refs, e.Ref) {
			continue
		}
		var from []string
		for _, h := range e.Holders {
			if h != f.Node {
				from = append(from, p.nodes[h].name)
			}
		}
		text := e.Title()
		if len(from) > 0 {
			text += " from " + strings.Join(from, " or ")
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}
