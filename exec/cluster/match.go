package cluster

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
	offers []*offer // of nodes that are given whatever they can execute; nil for others
	last   *offer   // of a driver that executes only what no other node can; nil if it is none
	groups []*offer // of the first node of each
	of     []int    // the group of each node
	known  map[question]*answer
	recent [4]asked // some that were found in known
	next   int      // of these, to be replaced
}

// question is what a task asks for.
type question struct {
	op *versions.Op
	c  *versions.Constraints
}

// asked is a question and its answer.
type asked struct {
	question
	*answer
}

// answer is who has it.
type answer struct {
	nodes  []bool
	some   bool   // there is one …
	last   bool   // … and if there is none, the driver has it
	groups uint64 // those of which all nodes have it
}

// mostGroups is the number of bits of a word.
const mostGroups = 64

// newMatches returns the matches of nodes with these offers.
func newMatches(offers []*offer, last *offer) matches {
	m := matches{offers: offers, last: last, of: make([]int, len(offers)), known: map[question]*answer{}}
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

// ask returns who can execute a task.
func (m *matches) ask(t *graph.Task) *answer {
	c, _ := t.Constraints().(*versions.Constraints)
	return m.asked(question{t.Op.(*versions.Op), c})
}

// asked returns who has what is asked for.
func (m *matches) asked(q question) *answer {
	for i := range m.recent {
		if x := &m.recent[i]; x.question == q && x.answer != nil {
			return x.answer
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

func (m *matches) find(q question) *answer {
	a := &answer{nodes: make([]bool, len(m.offers)), groups: 1<<len(m.groups) - 1}
	for i, o := range m.offers {
		if o == nil {
			continue
		}
		if o.unmet(q.op, q.c) == nil {
			a.nodes[i], a.some = true, true
		} else {
			a.groups &^= 1 << m.of[i]
		}
	}
	a.last = !a.some && m.last != nil && m.last.unmet(q.op, q.c) == nil
	return a
}

// can reports whether a node can execute a task, and is to.
func (m *matches) can(t *graph.Task, node int) bool {
	a := m.ask(t)
	return a.nodes[node] || node == 0 && a.last
}
