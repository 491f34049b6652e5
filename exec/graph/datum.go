package graph

import "fmt"

// String returns the datum's name, as in "A(3,2)".
func (d *Datum) String() string {
	if d.Name == "" {
		return fmt.Sprintf("datum(%d,%d)", d.I, d.J)
	}
	return fmt.Sprintf("%s(%d,%d)", d.Name, d.I, d.J)
}

// Has reports whether a location is in the set.
func (l Locations) Has(location int) bool { return l>>uint(location)&1 != 0 }

// At returns the locations of the datum's present value: where it was made, and where it was read
// since. It is empty if no task has used it and SetAt was not called.
func (d *Datum) At() Locations { return Locations(d.at.Load()) }

// SetAt sets the locations of a value that no task has made.
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

// makeSpecial returns d's special, which it makes if there is none.
func (d *Datum) makeSpecial() *special {
	if d.special == nil {
		d.special = &special{}
	}
	return d.special
}

// Latest returns the value that the task added last writes: Value, or another one if the datum is
// renamed. It is complete when the tasks have ended.
func (d *Datum) Latest() any {
	if d.special != nil && d.special.value != nil {
		return d.special.value.value
	}
	return d.Value
}

// Renamed reports whether [Datum.SetRenaming] was called.
func (d *Datum) Renamed() bool { return d.special != nil && d.special.renew != nil }
