package core

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// owners says which node owns which data. It is pure. A datum names its owner by a number, modulo the number of owners.
// If the node of an owner is lost, a node that comes later takes over the number.
type owners struct {
	nodes []int // by owner
	lost  func(node int) bool
	can   func(t *graph.Task, node int) bool // whether a node can execute a task
}

// add makes a node that has come an owner, in place of a lost one if there is one.
func (o *owners) add(node int) {
	if owner := slices.IndexFunc(o.nodes, o.lost); owner >= 0 {
		o.nodes[owner] = node
		return
	}
	o.nodes = append(o.nodes, node)
}

// ownedDatum returns the datum whose owner executes t: the first that t writes, else the first that
// it uses, nil if it uses none.
func (o *owners) ownedDatum(t *graph.Task) *graph.Datum {
	for k := range t.Len() {
		if o := t.Operand(k); o.Mode&graph.Out != 0 {
			return o.Datum
		}
	}
	if t.Len() == 0 {
		return nil
	}
	return t.Operand(0).Datum
}

// node returns the node that executes t: the owner of its ownedDatum or, if that node is lost or cannot execute t,
// another owner. Tasks without a datum go to the owners in turn. If no owner can execute t, it is node 0.
func (o *owners) node(t *graph.Task) int {
	if len(o.nodes) == 0 {
		return 0
	}
	owner := int(uint64(t.ID()) % uint64(len(o.nodes)))
	d := o.ownedDatum(t)
	if d != nil {
		owner = int(d.Owner) % len(o.nodes)
	}
	fits := func(node int) bool { return !o.lost(node) && o.can(t, node) }
	if node := o.nodes[owner]; fits(node) {
		return node
	}
	var others []int
	for _, node := range o.nodes {
		if fits(node) {
			others = append(others, node)
		}
	}
	if len(others) == 0 {
		return 0
	}
	if d != nil && !o.lost(o.nodes[owner]) { // it cannot execute t: spread the tasks on its data over the others
		owner += int(uint32(d.Key.I) + uint32(d.Key.J))
	}
	return others[owner%len(others)]
}
