package cluster

import "github.com/tessera-la/tessera/exec/graph"

// owners says which node each owner of a layout is. It is pure.
type owners struct {
	slots []int // the node of each
	lost  func(node int) bool
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

// of returns the node that owns the first datum that t writes, or reads if it writes none.
func (o *owners) of(t *graph.Task) int {
	d := t.Operand(0).Datum
	for k := range t.Len() {
		if o := t.Operand(k); o.Mode&graph.Out != 0 {
			d = o.Datum
			break
		}
	}
	if len(o.slots) == 0 {
		return 0
	}
	s := int(d.Owner) % len(o.slots)
	if !o.lost(o.slots[s]) {
		return o.slots[s]
	}
	var there []int
	for _, i := range o.slots {
		if !o.lost(i) {
			there = append(there, i)
		}
	}
	if len(there) == 0 {
		return 0
	}
	return there[s%len(there)]
}
