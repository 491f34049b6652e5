package cluster

import (
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
)

// byOwner is a [dispatch.Reserver] that keeps each task for the node that owns the first
// datum that it writes, the most urgent first.
type byOwner struct {
	p     *placement
	tasks []dispatch.Policy // by node
	n     int
}

func newByOwner(p *placement) *byOwner {
	q := &byOwner{p: p}
	for range p.nodes {
		q.tasks = append(q.tasks, dispatch.New(dispatch.Priority, dispatch.Machine{Locations: []int{0}}))
	}
	return q
}

// Push implements [dispatch.Policy].
func (q *byOwner) Push(ready []*graph.Task, _ int) {
	for i, t := range ready {
		q.tasks[q.p.owner(t)].Push(ready[i:i+1:i+1], -1)
		q.n++
	}
}

// Pop implements [dispatch.Policy].
func (q *byOwner) Pop(node int) *graph.Task {
	t := q.tasks[node].Pop(0)
	if t != nil {
		q.n--
	}
	return t
}

// Len implements [dispatch.Policy].
func (q *byOwner) Len() int { return q.n }

// Wants implements [dispatch.Reserver].
func (q *byOwner) Wants(node int) bool { return q.tasks[node].Len() > 0 }

// owner returns the node that owns the first datum that t writes, or reads if it writes none.
func (p *placement) owner(t *graph.Task) int {
	d := t.Operand(0).Datum
	for k := range t.Len() {
		if o := t.Operand(k); o.Mode&graph.Out != 0 {
			d = o.Datum
			break
		}
	}
	if len(p.slots) == 0 {
		return 0
	}
	s := int(d.Owner) % len(p.slots)
	if !p.lost[p.slots[s]] {
		return p.slots[s]
	}
	var there []int
	for _, i := range p.slots {
		if !p.lost[i] {
			there = append(there, i)
		}
	}
	if len(there) == 0 {
		return 0
	}
	return there[s%len(there)]
}

// slot makes a node that has come an owner: in place of one that is lost, if there is one.
func (p *placement) slot(node int) {
	if node == 0 && p.opt.Idle {
		return
	}
	for s, i := range p.slots {
		if p.lost[i] {
			p.slots[s] = node
			return
		}
	}
	p.slots = append(p.slots, node)
}
