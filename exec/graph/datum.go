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
	// Key is its identity, the same in every run of a program; the zero Key means
	// that it has none.
	Key
	// Owner is the process that the datum belongs to.
	Owner int32

	special  *special      // nil for most
	observed *place        // by the graph that was the last to observe it
	at       atomic.Uint64 // Locations; it ends a cache line: workers need what comes before, Add also the rest

	// Name names the datum to people, with I and J: "A(3,2)".
	Name string

	current *version
	reads   int32  // readers of current so far
	number  uint32 // twice that of current, for the Observer; odd once current has been seen to be there, and good
	initial version
}

// Key is the identity of a datum in its graph: element (I, J), a tile as a rule,
// of a matrix. Who makes data numbers matrices from 1, in the order of the program.
type Key struct {
	Matrix uint32 `json:"matrix,omitempty"`
	I      int32  `json:"i"`
	J      int32  `json:"j"`
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
	d.current, d.reads = v, 0
	d.number = d.number&^1 + 2
}

// latest returns the version that the next task in program order sees.
func (d *Datum) latest() *version {
	if d.current == nil {
		d.initial.waiters.Store(produced)
		d.current = &d.initial
	}
	return d.current
}
