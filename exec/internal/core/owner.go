package core

import "github.com/tessera-la/tessera/exec/graph"

// owners says which node owns which data. Owner k of a layout is nodes[k]. It is pure.
type owners struct {
	nodes []int // by owner number
	lost  func(node int) bool
	can   func(t *graph.Task, node int) bool // whether a node can execute a task
}

// add makes a node that has come an owner, in place of a lost one if there is one.
func (o *owners) add(node int) {
	for s, i := range o.nodes {
		if o.lost(i) {
			o.nodes[s] = node
			return
		}
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

// node returns the node that executes t: the owner of that datum or, if the owner is lost or cannot
// execute t, another owner. Tasks without a datum go to the owners in turn.
func (o *owners) node(t *graph.Task) int {
	if len(o.nodes) == 0 {
		return 0
	}
	s := int(uint64(t.ID()) % uint64(len(o.nodes)))
	d := o.ownedDatum(t)
	if d != nil {
		s = int(d.Owner) % len(o.nodes)
	}
	if !o.lost(o.nodes[s]) && o.can(t, o.nodes[s]) {
		return o.nodes[s]
	}
	var there []int
	for _, i := range o.nodes {
		if !o.lost(i) && o.can(t, i) {
			there = append(there, i)
		}
	}
	if len(there) == 0 {
		return 0
	}
	if d != nil && !o.lost(o.nodes[s]) { // spread its data over the others
		s += int(uint32(d.Key.I) + uint32(d.Key.J))
	}
	return there[s%len(there)]
}
