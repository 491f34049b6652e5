package sim

import (
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// init sets the capacity in bytes; 0: no cap.
func (m *memory) init(room int64) {
	if m.room = room; room == 0 {
		m.room = -1
	}
	m.of = map[*graph.Datum]*copied{}
	m.first.next, m.first.prev = &m.first, &m.first
}

// put adds a datum that is there from a time on. The caller has made room.
func (m *memory) put(d *graph.Datum, there float64) *copied {
	v := &copied{of: d, there: there}
	m.of[d] = v
	m.have += d.Bytes
	m.link(v)
	return v
}

func (m *memory) link(v *copied) {
	v.next, v.prev = m.first.next, &m.first
	v.next.prev, m.first.next = v, v
}

// use notes that the latest task uses a datum, which is there.
func (m *memory) use(d *graph.Datum) {
	v := m.of[d]
	if v.used > 0 {
		v.gap = m.tasks - v.used
	}
	v.used = m.tasks
	v.next.prev, v.prev.next = v.prev, v.next
	m.link(v)
}

// finished returns a value, among those for which counts is true, that seems to have been used for
// the last time: it was used at regular distances, and then not for a good while. Package
// kernels/cuda has the same rule.
func (m *memory) finished(counts func(*graph.Datum) bool) (best *copied) {
	const reach, least = 32, 8
	longest := least
	for v, i := m.first.prev, 0; v != &m.first && i < reach; v, i = v.prev, i+1 {
		if age := m.tasks - v.used; v.gap > 0 && age > 2*v.gap && age > longest && counts(v.of) {
			best, longest = v, age
		}
	}
	return best
}

// drop removes a datum, if it is there.
func (m *memory) drop(d *graph.Datum) {
	if v := m.of[d]; v != nil {
		v.next.prev, v.prev.next = v.prev, v.next
		delete(m.of, d)
		m.have -= d.Bytes
	}
}

// last returns the value used least recently that is neither pinned nor kept, nil if there is none.
func (m *memory) last(kept func(*graph.Datum) bool) *copied {
	for v := m.first.prev; v != &m.first; v = v.prev {
		if !slices.Contains(m.pinned, v.of) && !kept(v.of) {
			return v
		}
	}
	return nil
}

// on returns the device that alone has a datum, nil if the host has it.
func (p *places) on(d *graph.Datum) *device { return p.at[d] }

// only notes that a device alone has a datum.
func (p *places) only(d *graph.Datum, x *device) {
	if p.at == nil {
		p.at, p.back = map[*graph.Datum]*device{}, map[*graph.Datum]float64{}
	}
	p.at[d] = x
	delete(p.back, d)
}

// both notes that the host has the datum, too, from a time on.
func (p *places) both(d *graph.Datum, from float64) {
	delete(p.at, d)
	p.back[d] = from
}

// none notes that no device has the datum any more.
func (p *places) none(d *graph.Datum) {
	delete(p.at, d)
	delete(p.back, d)
}
