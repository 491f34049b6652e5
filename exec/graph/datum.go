package graph

import (
	"fmt"
	"sync/atomic"
)

// Datum is a handle on something that tasks read and write, for example a
// tile. The zero value, with Value and Bytes set, is ready to use. A Datum
// belongs to one graph at a time: it may go to another graph when all tasks
// on it have ended.
type Datum struct {
	// Value is what versions of an op receive as the operand.
	Value any
	// Bytes is its size, for locality and transfers.
	Bytes int64
	// Name, I and J name the datum to people: "A(3,2)".
	Name string
	I, J int32

	special *special // nil for most
	home    atomic.Int32
	_       [4]byte // to a cache line: workers need what comes before, Add also the rest

	current *version
	reads   int32  // readers of current so far
	there   bool   // current has been seen to be there, and good
	number  uint32 // of current; for the Observer
	index   uint32 // of the datum in numbered
	initial version

	numbered *numbering // by the graph that was the last to observe it
}

// String returns the datum's name, as in "A(3,2)".
func (d *Datum) String() string {
	if d.Name == "" {
		return fmt.Sprintf("datum(%d,%d)", d.I, d.J)
	}
	return fmt.Sprintf("%s(%d,%d)", d.Name, d.I, d.J)
}

// Home returns the location where the datum's current version was made, -1 if
// it is nowhere in particular.
func (d *Datum) Home() int { return int(d.home.Load()) - 1 }

// SetHome sets the location. Locations are numbered from 0; -1 is none.
func (d *Datum) SetHome(loc int) {
	if d.home.Load() != int32(loc+1) { // an unchanged cache line stays shared
		d.home.Store(int32(loc + 1))
	}
}

// advance makes v the version that the next task sees.
func (d *Datum) advance(v *version) {
	d.current, d.reads, d.there = v, 0, false
	d.number++
}

// latest returns the version that the next task in program order sees.
func (d *Datum) latest() *version {
	if d.current == nil {
		d.initial.waiters.Store(produced)
		d.current = &d.initial
	}
	return d.current
}
