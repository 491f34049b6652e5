package graph

import (
	"slices"
	"sync"
)

// Log notes who accesses what, from which all edges follow later: a task costs
// less so than where an [Observer] is told of its edges, while others wait for it
// to be added. The zero value is an empty log. It is of one [Graph].
type Log struct {
	// Begun, if not nil, is called when something is noted for the first time, and
	// for the first time after Forget.
	Begun func()
	// Whole has it note what [Log.Program] returns, too. It must be set before the first task.
	Whole bool

	mu     sync.Mutex // a leaf
	begun  bool
	pieces []piece // since past; all but the last are full
	past   past
	bytes  []int64 // of each datum, by its number

	// If it is Whole:
	data  []ProgramDatum
	tasks []ProgramTask // without their operands
}

// ProgramDatum is what a datum was when a program first used it.
type ProgramDatum struct {
	Name string `json:"name,omitempty"`
	Key
	Owner int32 `json:"owner,omitempty"`
	Bytes int64 `json:"bytes"`
	// Renamed says that a task which writes it without reading it need not wait for readers.
	Renamed bool `json:"renamed,omitempty"`
}

// ProgramTask is a task of a program as it was submitted. Its operands are in their order, those on one
// datum joined.
type ProgramTask struct {
	Task     TaskID
	Priority int64
	Operands []ProgramOperand
}

// ProgramOperand is an operand of a ProgramTask.
type ProgramOperand struct {
	Datum int // which of the data
	Mode  Mode
}

// seen notes the next datum, by number.
func (l *Log) seen(d *Datum) {
	l.mu.Lock()
	l.bytes = append(l.bytes, d.Bytes)
	if l.Whole {
		l.data = append(l.data, ProgramDatum{d.Name, d.Key, d.Owner, d.Bytes, d.Renamed()})
	}
	l.mu.Unlock()
}

// piece is some accesses that are not moved, for that costs as much as to write
// them. It has room for fewer tasks than brief.task can say.
type piece struct {
	first TaskID
	list  []brief
}

// brief is an [access] without pointers, in 8 bytes.
type brief struct {
	task  uint32 // after the first one of the piece, by what is beside the kind
	datum uint32
}

const (
	kindBits = 3
	most     = 1<<(32-kindBits) - 1 // is how far a task can be from the first one
)

// add notes a task, unless t is nil, and accesses. Pieces have room for 16, 64, 256, 1024 and
// then 4096 of these: a short job takes little, a long one few allocations.
func (l *Log) add(t *Task, list []access) {
	l.mu.Lock()
	if l.Whole && t != nil {
		l.tasks = append(l.tasks, ProgramTask{Task: t.id, Priority: t.Priority})
	}
	begins := !l.begun
	l.begun = true
	last := len(l.pieces) - 1
	for _, a := range list {
		if last < 0 || len(l.pieces[last].list) == cap(l.pieces[last].list) || a.task-l.pieces[last].first > most {
			last++
			l.pieces = append(l.pieces, piece{a.task, make([]brief, 0, 16<<min(2*last, 8))})
		}
		p := &l.pieces[last]
		p.list = append(p.list, brief{uint32(a.task-p.first)<<kindBits | uint32(a.kind), a.datum})
	}
	l.mu.Unlock()
	if begins && l.Begun != nil {
		l.Begun()
	}
}

// all yields the accesses of p.
func (p *piece) all(yield func(access) bool) {
	for _, b := range p.list {
		if !yield(access{p.first + TaskID(b.task>>kindBits), b.datum, accessKind(b.task & (1<<kindBits - 1))}) {
			return
		}
	}
}

// Edges yields the edges so far, or since Forget, as an [Observer] would have been told
// of them, with the size of the datum that each is about. It may be called at any time.
// It works on a copy of the past and yields without the lock, so that tasks can be
// added meanwhile.
func (l *Log) Edges(yield func(on, task TaskID, kind Dependence, bytes int64)) {
	l.mu.Lock()
	// Lists only grow, and never move: what is in them now can be read without the lock.
	pieces := slices.Clone(l.pieces) // with the lists as long as they are now
	known, bytes := slices.Clone(l.past), l.bytes
	for i := range known {
		known[i].makers, known[i].readers = slices.Clone(known[i].makers), slices.Clone(known[i].readers)
	}
	l.mu.Unlock()
	for i := range pieces {
		for a := range pieces[i].all {
			known.after(a, func(on TaskID, kind Dependence) { yield(on, a.task, kind, bytes[a.datum]) })
		}
	}
}

// Program returns the tasks so far, or since Forget, in the order of submission, and the data
// that they and the tasks before them access. It may be called at any time, of a log that is Whole.
func (l *Log) Program() (data []ProgramDatum, tasks []ProgramTask) {
	l.mu.Lock()
	data, tasks = slices.Clone(l.data), slices.Clone(l.tasks)
	pieces := slices.Clone(l.pieces)
	l.mu.Unlock()
	i := 0
	for k := range pieces {
		for a := range pieces[k].all {
			mode := a.kind.mode()
			if mode == 0 {
				continue
			}
			for tasks[i].Task != a.task {
				i++
			}
			tasks[i].Operands = append(tasks[i].Operands, ProgramOperand{int(a.datum), mode})
		}
	}
	return data, tasks
}

// Forget drops what was noted so far, but for what is needed for edges between it
// and what comes later. It may be called at any time.
func (l *Log) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.pieces {
		for a := range l.pieces[i].all {
			l.past.after(a, nil)
		}
	}
	l.pieces, l.tasks, l.begun = nil, nil, false
}
