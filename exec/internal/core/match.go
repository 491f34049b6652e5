package core

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// matches says which nodes can execute a task: those with a version of its op for workers that meet
// the task's constraints. It is pure.
//
// Equal nodes form a group, which has a bit in a word. Group k's bit in an Answer is set if all of
// its nodes can execute the task. So it is correct, if coarser, that the 64th group takes all
// further nodes.
type matches struct {
	offers      []*Offer // by node; nil for nodes that take no tasks from the policy
	driverOffer *Offer   // of a driver that executes only what no other node can; nil if it is none
	groups      []*Offer // of the first node of each group
	groupOf     []int    // by node
	answers     map[Question]*Answer
	recent      [4]asked // a cache in front of answers
	next        int      // the index in recent to replace
}

// Question is what a task requires of a node.
type Question struct {
	Op   *versions.Op
	Asks *versions.Constraints
}

// asked is a question and its answer.
type asked struct {
	Question
	*Answer
}

// Answer says which nodes meet a Question.
type Answer struct {
	Nodes      []bool
	Any        bool   // some node does
	DriverOnly bool   // none does but the driver
	groups     uint64 // the groups all of whose nodes do
}

// maxGroups is the number of bits of a word.
const maxGroups = 64

// newMatches returns the matches of nodes with these offers.
func newMatches(offers []*Offer, last *Offer) matches {
	m := matches{offers: offers, driverOffer: last, groupOf: make([]int, len(offers)), answers: map[Question]*Answer{}}
	for i, o := range offers {
		if o == nil {
			continue
		}
		k := 0
		for k < len(m.groups) && k < maxGroups-1 && !m.groups[k].isLike(o) {
			k++
		}
		if k == len(m.groups) {
			m.groups = append(m.groups, o)
		}
		m.groupOf[i] = k
	}
	return m
}

// Ask returns the nodes that can execute a task.
func (m *matches) Ask(t *graph.Task) *Answer {
	c, _ := t.Constraints().(*versions.Constraints)
	return m.AskFor(Question{t.Op.(*versions.Op), c})
}

// AskFor returns the nodes that meet a Question.
func (m *matches) AskFor(q Question) *Answer {
	for i := range m.recent {
		if x := &m.recent[i]; x.Question == q && x.Answer != nil {
			return x.Answer
		}
	}
	a := m.answers[q]
	if a == nil {
		if len(m.answers) > 1<<12 { // as when each task has constraints of its own
			clear(m.answers)
		}
		a = m.find(q)
		m.answers[q] = a
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
			a.Nodes[i], a.Any = true, true
		} else {
			a.groups &^= 1 << m.groupOf[i]
		}
	}
	a.DriverOnly = !a.Any && m.driverOffer != nil && m.driverOffer.Unmet(q.Op, q.Asks) == nil
	return a
}

// can reports whether a node can execute a task and may get it.
func (m *matches) can(t *graph.Task, node int) bool {
	a := m.Ask(t)
	return a.Nodes[node] || node == 0 && a.DriverOnly
}
