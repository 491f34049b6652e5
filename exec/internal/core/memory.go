package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tessera-la/tessera/exec/graph"
)

// MemoryError says that a task cannot be given to any node: none has the memory for what it
// uses, beside what only that node has.
type MemoryError struct {
	Task string
	Need int64 // bytes of what the task uses
	// Node is the one with the most memory, Memory its cap, and Kept the bytes on it that
	// nobody else has and that the task does not use: 0 if Memory is less than Need.
	Node         string
	Memory, Kept int64
	// Others are those of Kept that the job does not use, a few, the most bytes first: data that stay on
	// nodes between jobs as a rule. What other jobs are to leave in the program's memory makes room.
	Others []Holding
}

// Holding is what data of one name take of a node's memory.
type Holding struct {
	Data  string // as Datum.Name; "" if they have none
	Bytes int64
}

// othersMost is how many of them an error names.
const othersMost = 3

func (e *MemoryError) Error() string {
	text := fmt.Sprintf("cluster: %s uses %d bytes, and node %s, with the most memory, has a cap of %d", e.Task, e.Need, e.Node, e.Memory)
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

// Memory is what a node has been told to keep: the driver counts, so that the node never
// has to refuse anything. Copies that others have as well make room for what tasks need, that
// which was used last the last. It is pure.
type Memory struct {
	Node    int   // whose it is
	Most    int64 // bytes; 0: no cap, and nothing is counted
	Used    int64
	Spots   map[*Entry]*spot
	clock   uint64
	Leaving int // jobs and sets of data that the node is about to be told to forget
}

// spot is a datum that a node has, in some version, or is to have.
type spot struct {
	bytes int64
	pins  int    // tasks that the node was given and has not ended
	last  uint64 // when it was used last
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

// BytesUsed returns how many bytes data have.
func BytesUsed(data []*Entry) (n int64) {
	for _, e := range data {
		n += e.Label.Bytes
	}
	return n
}

// room makes room for a task, and reports whether there is enough. Copies to be dropped for
// it are passed to drop.
func (m *Memory) room(uses []*Entry, drop func(*Entry)) bool {
	over := m.Used - m.Most
	for _, e := range uses {
		if m.Spots[e] == nil {
			over += e.Label.Bytes
		}
	}
	if m.Most == 0 || over <= 0 {
		return true
	}
	type copy struct {
		e *Entry
		s *spot
	}
	var copies []copy
	var free int64
	for e, s := range m.Spots {
		if s.pins == 0 && !m.keeps(e) && !slices.Contains(uses, e) {
			copies = append(copies, copy{e, s})
			free += s.bytes
		}
	}
	if free < over {
		return false
	}
	slices.SortFunc(copies, func(a, b copy) int { // of those that one task has used in any order that stays
		x, y := a.e.Ref, b.e.Ref
		return cmp.Or(cmp.Compare(a.s.last, b.s.last), cmp.Compare(x.Matrix, y.Matrix), cmp.Compare(x.I, y.I), cmp.Compare(x.J, y.J), cmp.Compare(x.Job, y.Job))
	})
	over = min(free, over+m.Most/16) // not one for each task
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

// keeps reports whether the node has to keep a datum that no task uses there, because others will be
// told that it has it: it is the first of the holders. If the driver has it, too, it is enough that
// that one does.
func (m *Memory) keeps(e *Entry) bool {
	if e.Spare || len(e.Holders) == 0 || e.Holders[0] != m.Node {
		return false
	}
	set := e.Set
	if e.CopyOf != nil { // it is made again
		set = e.CopyOf.Set
	}
	return m.Node == 0 || set != 0 || !e.Has(0)
}

// Spares reports whether a second copy of so many bytes leaves some room for tasks.
func (m *Memory) Spares(bytes int64) bool {
	return m.Most == 0 || m.Used+bytes <= m.Most-m.Most/8
}

// Pin notes that the node is given a task.
func (m *Memory) Pin(uses []*Entry) {
	if m.Most == 0 {
		return
	}
	if m.Spots == nil {
		m.Spots = map[*Entry]*spot{}
	}
	m.clock++
	for _, e := range uses {
		s := m.Spots[e]
		if s == nil {
			s = &spot{bytes: e.Label.Bytes}
			m.Spots[e] = s
			m.Used += s.bytes
			e.spots = append(e.spots, m.Node)
		}
		s.pins++
		s.last = m.clock
	}
}

// Unpin notes that a task has ended.
func (m *Memory) Unpin(uses []*Entry) {
	for _, e := range uses {
		if s := m.Spots[e]; s != nil {
			s.pins--
		}
	}
}

// Pinned reports whether a task uses something on the node.
func (m *Memory) Pinned() bool {
	for _, s := range m.Spots {
		if s.pins > 0 {
			return true
		}
	}
	return false
}

// Forget notes that the node is told to drop a datum, and reports whether it had one.
func (m *Memory) Forget(e *Entry) bool {
	s := m.Spots[e]
	if s != nil {
		m.Used -= s.bytes
		delete(m.Spots, e)
		e.spots = slices.DeleteFunc(e.spots, func(i int) bool { return i == m.Node })
	}
	return s != nil
}

// Lose notes that the node is lost, and has nothing.
func (m *Memory) Lose() {
	for e := range m.Spots {
		m.Forget(e)
	}
}

// Kept returns the bytes that cannot make room for a task, and which of them are for none of the data of
// its job.
func (m *Memory) Kept(uses []*Entry, job map[*Entry]bool) (n int64, others []Holding) {
	by := map[string]int64{}
	for e, s := range m.Spots {
		if !m.keeps(e) || slices.Contains(uses, e) {
			continue
		}
		if n += s.bytes; !job[e] {
			by[e.Label.name] += s.bytes
		}
	}
	for name, bytes := range by {
		others = append(others, Holding{name, bytes})
	}
	slices.SortFunc(others, func(a, b Holding) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Data, b.Data)) })
	return n, others[:min(len(others), othersMost)]
}
