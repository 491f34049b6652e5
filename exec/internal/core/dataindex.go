package core

import (
	"iter"
	"unsafe"

	"github.com/tessera-la/tessera/exec/graph"
)

// DataIndex finds the entries of data. It is a table that is half full at most, where a datum
// has its place by its address: neighbours in memory, as the tiles of a matrix are, are
// neighbours there. If that is taken its place is far away: so two matrices that begin at the same
// place do not get into one another's way, tile by tile. What a driver does about a task looks up
// each of its data a dozen times. The zero value is empty.
type DataIndex struct {
	slots []dataSlot // their number is a power of two
	n     int
}

type dataSlot struct {
	d *graph.Datum
	e *Entry
}

// at returns the place of a datum, or a free one if there is none. There are slots.
func (x *DataIndex) at(d *graph.Datum) *dataSlot {
	mask := uintptr(len(x.slots) - 1)
	const far = 0x9e3779b1 // odd: it comes to all places
	for i := uintptr(unsafe.Pointer(d)) / unsafe.Sizeof(*d); ; i += far {
		if s := &x.slots[i&mask]; s.d == d || s.d == nil {
			return s
		}
	}
}

// Of returns the entry of a datum, nil if it has none.
func (x *DataIndex) Of(d *graph.Datum) *Entry {
	if x == nil || x.n == 0 {
		return nil
	}
	return x.at(d).e
}

// Put gives a datum an entry.
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

// All yields data and their entries, in no order.
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
