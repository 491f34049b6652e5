package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// MemoryError says that a task cannot run on any node: none has the memory for its operands beside
// the data that only that node has.
type MemoryError struct {
	Task string
	Need int64 // bytes of the task's operands
	// Node has the most memory; Memory is its cap. Kept is the bytes on it that no other node has
	// and that the task does not use, 0 if Memory is less than Need.
	Node         string
	Memory, Kept int64
	// Others are the largest data of Kept that the job does not use, as a rule data that stay on
	// nodes between jobs. Other jobs' data for the program's memory make room and are not listed.
	Others []Holding
}

// Holding is the memory that data of one name take on a node.
type Holding struct {
	Data  string // as Datum.Name; "" if they have none
	Bytes int64
}

// maxHoldings bounds Others.
const maxHoldings = 3

func (e *MemoryError) Error() string {
	text := fmt.Sprintf("cluster: %s uses %d bytes, and node %s, with the most memory, has a cap of %d",
		e.Task, e.Need, e.Node, e.Memory)
	if e.Kept > 0 {
		text += fmt.Sprintf(", of which %d are taken by what only it has", e.Kept)
	}
	between := "; the job does not use"
	for _, h := range e.Others {
		text += fmt.Sprintf("%s %d bytes of %s", between, h.Bytes, cmp.Or(h.Data, "data without a name"))
		between = ","
	}
	return text
}

// Memory counts what a node has been told to keep. The driver counts, so a node never has to refuse
// a task. Copies that other nodes have as well make room for tasks, the least recently used first.
// It is pure.
type Memory struct {
	Node           int   // whose it is
	Cap            int64 // bytes; 0: no cap, and nothing is counted
	Used           int64
	Held           map[*Entry]*heldDatum
	clock          uint64 // counts calls of Pin and Hold
	PendingForgets int    // jobs and sets of data that the node will be told to forget
}

// heldDatum is a datum that a node has in some version, or will have.
type heldDatum struct {
	bytes int64
	pins  int    // tasks on the node that use it
	last  uint64 // clock of the last Pin or Hold
}

// Uses returns the data that a task uses, each once.
func Uses(t *graph.Task, data *DataIndex) (all []*Entry) {
	for k := range t.Len() {
		if e := data.Of(t.Operand(k).Datum); !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return all
}

// BytesUsed returns the bytes of some data.
func BytesUsed(data []*Entry) (n int64) {
	for _, e := range data {
		n += e.Label.Bytes
	}
	return n
}

// makeRoom makes room for a task's data and reports whether there is enough. It passes the copies
// that have to go to drop.
func (m *Memory) makeRoom(uses []*Entry, drop func(*Entry)) bool {
	over := m.Used - m.Cap
	for _, e := range uses {
		if m.Held[e] == nil {
			over += e.Label.Bytes
		}
	}
	if m.Cap == 0 || over <= 0 {
		return true
	}
	type copy struct {
		e *Entry
		s *heldDatum
	}
	var copies []copy
	var free int64
	for e, s := range m.Held {
		if s.pins == 0 && !m.mustKeep(e) && !slices.Contains(uses, e) {
			copies = append(copies, copy{e, s})
			free += s.bytes
		}
	}
	if free < over {
		return false
	}
	slices.SortFunc(copies, func(a, b copy) int { // ties are broken by name, for determinism
		x, y := a.e.Ref, b.e.Ref
		return cmp.Or(cmp.Compare(a.s.last, b.s.last), cmp.Compare(x.Matrix, y.Matrix),
			cmp.Compare(x.I, y.I), cmp.Compare(x.J, y.J), cmp.Compare(x.Job, y.Job))
	})
	over = min(free, over+m.Cap/16) // some in advance, so that the next tasks need no search
	for _, c := range copies {
		if over <= 0 {
			break
		}
		over -= c.s.bytes
		drop(c.e)
		m.Forget(c.e)
	}
	return true
}

// mustKeep reports whether the node has to keep a datum that no task uses there, because other
// nodes will fetch it from here: the node is the first holder. If the driver has a datum of the
// program, too, the driver's copy is enough.
func (m *Memory) mustKeep(e *Entry) bool {
	if e.Evictable || len(e.Holders) == 0 || e.Holders[0] != m.Node {
		return false
	}
	set := e.Set
	if e.StandsFor != nil { // a stand-in
		set = e.StandsFor.Set
	}
	return m.Node == 0 || set != 0 || !e.Has(0)
}

// HasRoomFor reports whether a replica of so many bytes leaves an eighth of the memory for tasks.
func (m *Memory) HasRoomFor(bytes int64) bool {
	return m.Cap == 0 || m.Used+bytes <= m.Cap-m.Cap/8
}

// Pin notes that a task on the node uses data.
func (m *Memory) Pin(uses []*Entry) {
	if m.Cap == 0 {
		return
	}
	m.clock++
	for _, e := range uses {
		m.hold(e).pins++
	}
}

// Hold notes that the node has a datum, which no task need use.
func (m *Memory) Hold(e *Entry) {
	if m.Cap == 0 {
		return
	}
	m.clock++
	m.hold(e)
}

// hold counts a datum and notes that it is used now.
func (m *Memory) hold(e *Entry) *heldDatum {
	if m.Held == nil {
		m.Held = map[*Entry]*heldDatum{}
	}
	s := m.Held[e]
	if s == nil {
		s = &heldDatum{bytes: e.Label.Bytes}
		m.Held[e] = s
		m.Used += s.bytes
		e.cappedAt = append(e.cappedAt, m.Node)
	}
	s.last = m.clock
	return s
}

// Unpin ends a Pin.
func (m *Memory) Unpin(uses []*Entry) {
	for _, e := range uses {
		if s := m.Held[e]; s != nil {
			s.pins--
		}
	}
}

// HasPinned reports whether a task uses data on the node.
func (m *Memory) HasPinned() bool {
	for _, s := range m.Held {
		if s.pins > 0 {
			return true
		}
	}
	return false
}

// Forget notes that the node drops a datum, and reports whether it had it.
func (m *Memory) Forget(e *Entry) bool {
	s := m.Held[e]
	if s != nil {
		m.Used -= s.bytes
		delete(m.Held, e)
		e.cappedAt = slices.DeleteFunc(e.cappedAt, func(i int) bool { return i == m.Node })
	}
	return s != nil
}

// Clear notes that the node is lost.
func (m *Memory) Clear() {
	for e := range m.Held {
		m.Forget(e)
	}
}

// Kept returns the bytes that cannot make room for a task with these data, and the largest of them
// that are not the job's.
func (m *Memory) Kept(uses []*Entry, job map[*Entry]bool) (n int64, others []Holding) {
	by := map[string]int64{}
	for e, s := range m.Held {
		if !m.mustKeep(e) || slices.Contains(uses, e) {
			continue
		}
		if n += s.bytes; !job[e] {
			by[e.Label.name] += s.bytes
		}
	}
	for name, bytes := range by {
		others = append(others, Holding{name, bytes})
	}
	slices.SortFunc(others, func(a, b Holding) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Data, b.Data))
	})
	return n, others[:min(len(others), maxHoldings)]
}
