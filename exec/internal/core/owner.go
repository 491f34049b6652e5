package core

import "github.com/tessera-la/tessera/exec/graph"

// owners says which node each owner of a layout is. It is pure.
type owners struct {
	slots []int // the node of each
	lost  func(node int) bool
	can   func(t *graph.Task, node int) bool // whether a node can execute a task
}

// enter makes a node that has come an owner: in place of one that is lost, if there is one.
func (o *owners) enter(node int) {
	for s, i := range o.slots {
		if o.lost(i) {
			o.slots[s] = node
			return
		}
	}
	o.slots = append(o.slots, node)
}

// by returns the first datum that t writes, or reads if it writes none; nil if it uses none.
func (o *owners) by(t *graph.Task) *graph.Datum {
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

// of returns the node that owns that datum: if that is lost, or cannot execute the task, another
// one. A task without a datum has an owner in its turn.
func (o *owners) of(t *graph.Task) int {
	if len(o.slots) == 0 {
		return 0
	}
	s := int(uint64(t.ID()) % uint64(len(o.slots)))
	d := o.by(t)
	if d != nil {
		s = int(d.Owner) % len(o.slots)
	}
	if !o.lost(o.slots[s]) && o.can(t, o.slots[s]) {
		return o.slots[s]
	}
	var there []int
	for _, i := range o.slots {
		if !o.lost(i) && o.can(t, i) {
			there = append(there, i)
		}
	}
	if len(there) == 0 {
		return 0
	}
	if d != nil && !o.lost(o.slots[s]) { // what it owns is not all to go to one
		s += int(uint32(d.Key.I) + uint32(d.Key.J))
	}
	return there[s%len(there)]
}
