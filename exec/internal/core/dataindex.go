package core

import (
	"iter"
	"unsafe"

	"github.com/tessera-la/tessera/exec/graph"
)

// DataIndex finds the entry of a datum. It is a hash table that is at most half full. A datum's
// place follows from its address, so neighbours in memory, as the tiles of a matrix, are neighbours
// in the table. A datum whose place is taken goes far away: otherwise two matrices that begin at
// the same place would collide tile by tile. A driver looks up each datum of a task about a dozen
// times. The zero value is empty.
type DataIndex struct {
	slots []dataSlot // a power of two of them
	n     int
}

type dataSlot struct {
	d *graph.Datum
	e *Entry
}

// at returns the place of a datum, or the free place where it belongs. There are slots.
func (x *DataIndex) at(d *graph.Datum) *dataSlot {
	mask := uintptr(len(x.slots) - 1)
	const far = 0x9e3779b1 // odd, so it visits all places
	for i := uintptr(unsafe.Pointer(d)) / unsafe.Sizeof(*d); ; i += far {
		if s := &x.slots[i&mask]; s.d == d || s.d == nil {
			return s
		}
	}
}

// Of returns the entry of a datum, nil if it has none. X may be nil.
func (x *DataIndex) Of(d *graph.Datum) *Entry {
	if x == nil || x.n == 0 {
		return nil
	}
	return x.at(d).e
}

// Put sets the entry of a datum.
func (x *DataIndex) Put(d *graph.Datum, e *Entry) {
	if 2*(x.n+1) > len(x.slots) {
		old := x.slots
		x.slots = make([]dataSlot, max(64, 4*len(old)))
		for _, s := range old {
			if s.d != nil {
				*x.at(s.d) = s
			}
		}
	}
	s := x.at(d)
	if s.d == nil {
		x.n++
	}
	*s = dataSlot{d, e}
}

// All yields data and their entries, in no order. X may be nil.
func (x *DataIndex) All() iter.Seq2[*graph.Datum, *Entry] {
	return func(yield func(*graph.Datum, *Entry) bool) {
		if x == nil {
			return
		}
		for _, s := range x.slots {
			if s.d != nil && !yield(s.d, s.e) {
				return
			}
		}
	}
}
