package graph

import (
	"slices"
	"sync"
)

// Log notes the accesses of tasks, from which all edges follow. So adding a task costs less than
// with an [Observer], which gets the edges while the submitter waits. The zero value is an empty
// log. A Log belongs to one [Graph].
type Log struct {
	// Begun, if not nil, is called when an access is noted for the first time, and for the first
	// time after Forget.
	Begun func()
	// Whole makes the log note what [Log.Program] returns, too. Set it before the first task.
	Whole bool

	mu     sync.Mutex // a leaf
	begun  bool
	pieces []piece // accesses after past; all pieces but the last are full
	past   past
	bytes  []int64 // of each datum, by its number

	// Only if Whole:
	data  []ProgramDatum
	tasks []ProgramTask // without their operands
}

// ProgramDatum describes a datum when the program first used it.
type ProgramDatum struct {
	Name string `json:"name,omitempty"`
	Key
	Owner int32 `json:"owner,omitempty"`
	Bytes int64 `json:"bytes"`
	// Renamed says that a task which only writes the datum need not wait for readers.
	Renamed bool `json:"renamed,omitempty"`
}

// ProgramTask is a task as the program submitted it. Operands on one datum are joined.
type ProgramTask struct {
	Task     TaskID
	Priority int64
	Operands []ProgramOperand
}

// ProgramOperand is an operand of a ProgramTask.
type ProgramOperand struct {
	Datum int // index into the program's data
	Mode  Mode
}

// seen notes the next datum, by number.
func (l *Log) seen(d ProgramDatum) {
	l.mu.Lock()
	l.bytes = append(l.bytes, d.Bytes)
	if l.Whole {
		l.data = append(l.data, d)
	}
	l.mu.Unlock()
}

// piece is a chunk of accesses. Chunks are never moved, because that costs as much as writing them.
// One has room for fewer tasks than packedAccess.task can count.
type piece struct {
	first TaskID
	list  []packedAccess
}

// packedAccess is an [access] without pointers, in 8 bytes.
type packedAccess struct {
	task  uint32 // offset from the piece's first task, above kindBits for the kind
	datum uint32
}

const (
	kindBits  = 3
	maxOffset = 1<<(32-kindBits) - 1 // the largest offset of a task
)

// add notes a task, unless t is zero, and accesses. The pieces have room for 16, 64, 256, 1024 and
// then 4096 accesses: a short job takes little memory, a long one few allocations.
func (l *Log) add(t ProgramTask, list []access) {
	l.mu.Lock()
	if l.Whole && t.Task != 0 {
		l.tasks = append(l.tasks, t)
	}
	begins := !l.begun
	l.begun = true
	last := len(l.pieces) - 1
	for _, a := range list {
		if last < 0 || len(l.pieces[last].list) == cap(l.pieces[last].list) || a.task-l.pieces[last].first > maxOffset {
			last++
			l.pieces = append(l.pieces, piece{a.task, make([]packedAccess, 0, 16<<min(2*last, 8))})
		}
		p := &l.pieces[last]
		p.list = append(p.list, packedAccess{uint32(a.task-p.first)<<kindBits | uint32(a.kind), a.datum})
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

// Edges yields the edges so far, or since Forget, as an [Observer] would get them, with the size of
// each edge's datum. It may be called at any time. It works on a copy of the past and yields
// without the lock, so that tasks can be added meanwhile.
func (l *Log) Edges(yield func(on, task TaskID, kind Dependence, bytes int64)) {
	l.mu.Lock()
	// Lists only grow, and never move: their present elements can be read without the lock.
	pieces := slices.Clone(l.pieces) // with the present lengths of the lists
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

// Program returns the tasks so far, or since Forget, in the order of submission, and the data that
// they and earlier tasks access. It may be called at any time. The log must be Whole.
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

// Forget drops what was noted so far, except what later edges need. It may be called at any time.
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
