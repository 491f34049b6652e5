package core

import "iter"

// table is a hash map by number for look-ups on every task. It is at most half full; a key whose
// place is taken has the next free one. Keys are not 0. The zero value is empty.
type table[V any] struct {
	slots []slot[V] // a power of two of them
	N     int       // entries; other packages only read it
}

type slot[V any] struct {
	key   uint64 // 0: empty
	value *V
}

// place returns the index of the slot of a key, or of the free slot where it belongs. A table without
// slots has neither.
func (t *table[V]) place(key uint64) int {
	const golden = 0x9e3779b97f4a7c15 // spreads similar keys
	mask := len(t.slots) - 1
	for i := int(key * golden >> 32); ; i++ {
		if s := &t.slots[i&mask]; s.key == key || s.key == 0 {
			return i & mask
		}
	}
}

// Of returns the value of a key, nil if it has none.
func (t *table[V]) Of(key uint64) *V {
	if t.N == 0 {
		return nil
	}
	return t.slots[t.place(key)].value
}

// put gives a key a value.
func (t *table[V]) put(key uint64, v *V) {
	if 2*(t.N+1) > len(t.slots) {
		old := t.slots
		t.slots = make([]slot[V], max(16, 4*len(old)))
		for _, s := range old {
			if s.key != 0 {
				t.slots[t.place(s.key)] = s
			}
		}
	}
	s := &t.slots[t.place(key)]
	if s.key == 0 {
		t.N++
	}
	*s = slot[V]{key, v}
}

// remove removes a key, if it is there, and moves up the following keys that would not be found any
// more.
func (t *table[V]) remove(key uint64) {
	if t.N == 0 {
		return
	}
	i, mask := t.place(key), len(t.slots)-1
	if t.slots[i].key == 0 {
		return
	}
	t.N--
	for t.slots[i] = (slot[V]{}); ; {
		i = (i + 1) & mask
		s := t.slots[i]
		if s.key == 0 {
			return
		}
		t.slots[i] = slot[V]{}
		t.slots[t.place(s.key)] = s
	}
}

// all yields the values, in no order.
func (t *table[V]) all() iter.Seq[*V] {
	return func(yield func(*V) bool) {
		for _, s := range t.slots {
			if s.key != 0 && !yield(s.value) {
				return
			}
		}
	}
}
