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

	special *special      // nil for most
	at      atomic.Uint64 // Locations; it ends a cache line: workers need what comes before, Add also the rest

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

// Locations is a set of locations: memories that are near to some workers and far
// from others, as NUMA nodes and accelerators have. They are numbered from 0; those
// from 64 on are in no set, as if nobody knew what is there.
type Locations uint64

// Has reports whether a location is in the set.
func (l Locations) Has(location int) bool { return l>>uint(location)&1 != 0 }

// At returns where the value of the datum is as it is: where it was made, and where
// it was read since. It is empty as long as nobody has said or used it.
func (d *Datum) At() Locations { return Locations(d.at.Load()) }

// SetAt says where the value is, for data that no task has made.
func (d *Datum) SetAt(l Locations) {
	if d.at.Load() != uint64(l) { // an unchanged cache line stays shared
		d.at.Store(uint64(l))
	}
}

// used is [Task.Used] for one datum.
func (d *Datum) used(mode Mode, location int, fixed Locations) {
	at := d.At()
	if mode&Out != 0 {
		at &= fixed
	}
	if at&fixed == 0 {
		at |= 1 << uint(location)
	}
	d.SetAt(at)
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
