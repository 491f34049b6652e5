package core

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// matches says which nodes can execute which tasks: those that have a version of the op for
// workers that meet the task's own constraints. It is pure.
//
// Nodes are in groups, a bit for each: as a rule those that are alike. What a group can
// execute, all of its nodes can. So it does no harm that there are 64 at most.
type matches struct {
	offers []*Offer // of nodes that are given whatever they can execute; nil for others
	last   *Offer   // of a driver that executes only what no other node can; nil if it is none
	groups []*Offer // of the first node of each
	of     []int    // the group of each node
	known  map[Question]*Answer
	recent [4]asked // some that were found in known
	next   int      // of these, to be replaced
}

// Question is what a task asks for.
type Question struct {
	Op   *versions.Op
	Asks *versions.Constraints
}

// asked is a question and its answer.
type asked struct {
	Question
	*Answer
}

// Answer is who has it.
type Answer struct {
	Nodes  []bool
	Some   bool   // there is one …
	Last   bool   // … and if there is none, the driver has it
	groups uint64 // those of which all nodes have it
}

// mostGroups is the number of bits of a word.
const mostGroups = 64

// newMatches returns the matches of nodes with these offers.
func newMatches(offers []*Offer, last *Offer) matches {
	m := matches{offers: offers, last: last, of: make([]int, len(offers)), known: map[Question]*Answer{}}
	for i, o := range offers {
		if o == nil {
			continue
		}
		k := 0
		for k < len(m.groups) && k < mostGroups-1 && !m.groups[k].like(o) {
			k++
		}
		if k == len(m.groups) {
			m.groups = append(m.groups, o)
		}
		m.of[i] = k
	}
	return m
}

// Ask returns who can execute a task.
func (m *matches) Ask(t *graph.Task) *Answer {
	c, _ := t.Constraints().(*versions.Constraints)
	return m.Asked(Question{t.Op.(*versions.Op), c})
}

// Asked returns who has what is asked for.
func (m *matches) Asked(q Question) *Answer {
	for i := range m.recent {
		if x := &m.recent[i]; x.Question == q && x.Answer != nil {
			return x.Answer
		}
	}
	a := m.known[q]
	if a == nil {
		if len(m.known) > 1<<12 { // each task has constraints of its own
			clear(m.known)
		}
		a = m.find(q)
		m.known[q] = a
	}
	m.recent[m.next] = asked{q, a}
	m.next = (m.next + 1) % len(m.recent)
	return a
}

func (m *matches) find(q Question) *Answer {
	a := &Answer{Nodes: make([]bool, len(m.offers)), groups: 1<<len(m.groups) - 1}
	for i, o := range m.offers {
		if o == nil {
			continue
		}
		if o.Unmet(q.Op, q.Asks) == nil {
			a.Nodes[i], a.Some = true, true
		} else {
			a.groups &^= 1 << m.of[i]
		}
	}
	a.Last = !a.Some && m.last != nil && m.last.Unmet(q.Op, q.Asks) == nil
	return a
}

// can reports whether a node can execute a task, and is to.
func (m *matches) can(t *graph.Task, node int) bool {
	a := m.Ask(t)
	return a.Nodes[node] || node == 0 && a.Last
}
