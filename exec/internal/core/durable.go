package core

import (
	"maps"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
)

// Second copies are taken in rounds. A round is a place in the order of the program's tasks:
// of each datum of a job it copies the version that is the latest there. So what tasks behind
// it read has been copied, or is made behind it; to make something again nothing is needed
// from before the last round that is whole.
//
// Two things have a round begun. The first is work: what all nodes have done since the last
// one would take long to be done again, beside what a round takes. Then one more node has each
// version, and all records are kept: what two nodes that are lost have taken with them is
// made from its beginning. The second is records, of which there are too many. Then two nodes
// keep each version, the records before the round are freed when it is whole, and all later
// rounds are like that: with one node nothing is lost for good.
//
// All here is pure.

// Copies is cluster.Copies.
type Copies struct {
	Off     bool
	Records int
	Share   float64
}

// The defaults of Copies, the least work between two rounds, and what is assumed that a
// node gets of copies in a second: the rate of values with TLS on a loopback address is 0.85
// GB/s (2 cores, EPYC, 2026-11-23: docs/internals/measurements.md).
const (
	recordsMost = 1 << 17
	recordBytes = 300
	copyShare   = 0.02
	WorkLeast   = 250 * time.Millisecond
	copyRate    = 0.5e9
)

// Effort is what a round is weighed by.
type Effort struct {
	Tasks  int           // that have ended since the last round began that frees records
	Again  time.Duration // what was done since the last round began has taken
	Agents int
	Capped bool         // all have caps on their memory
	Bytes  func() int64 // of all data, which may have to be copied
	Many   bool         // there have been too many records
}

// Due returns how many nodes are to have second copies, 0 if no round is to begin.
func (c *Copies) Due(x Effort) int {
	share := c.Share
	if share == 0 && x.Capped {
		share = copyShare
	}
	switch {
	case c.Off || x.Agents < 2:
		return 0
	case c.Records > 0 && x.Tasks >= c.Records/2:
		return 2
	case c.Records == 0 && x.Capped && x.Tasks >= recordsMost/2 && int64(x.Tasks) >= x.Bytes()/8/recordBytes/2:
		return 2
	case share == 0 || x.Again < WorkLeast:
		return 0
	}
	n := 1
	if x.Many {
		n = 2
	}
	takes := float64(n) * float64(x.Bytes()) / copyRate / float64(x.Agents)
	if x.Again.Seconds()*share < takes {
		return 0
	}
	return n
}

// Round is second copies that are being taken.
type Round struct {
	Nodes  int             // that are to have each
	Cut    graph.TaskID    // the last task before the place in the order of the program's tasks
	Due    map[*Entry]*Due // data that have not been copied yet
	Failed bool
	Taken  []Taken // copies on two nodes, which count when all are there
}

// Due is a datum that is to be copied.
type Due struct {
	Version uint32 // that which the tasks up to the cut leave
	Taken   bool   // it is being copied
	Held    []*graph.Task
}

// Taken is a copy that was taken.
type Taken struct {
	Of *Entry
	Second
}

// Another returns a datum that is to have a copy of e, under a name that nobody has yet.
func (e *Entry) Another(name transport.Ref) *Entry {
	return &Entry{Facts: e.Facts, Set: name.Job, Version: 1, Ref: name, CopyOf: e, Spare: true}
}

// Apart reports whether so many nodes keep the latest version, wherever tasks are given that
// write it: of one, whether it is another one than that which has the latest itself.
func (e *Entry) Apart(nodes int) bool {
	if !e.keeps(e.Version, nodes) {
		return false
	}
	c := e.Second.Copy
	return nodes > 1 || c == nil || len(c.Holders) != 1 || len(e.Holders) != 1 || c.Holders[0] != e.Holders[0]
}

// Sweep frees the records that make nothing again which is needed for one of the data, and
// returns how many it has left. What two nodes keep is not made again.
func Sweep(data map[*Entry]bool) (left int) {
	met := map[*Entry]bool{}
	needed := makers(maps.Keys(data), func(x Instance) bool {
		met[x.Of] = true
		return x.Of.keeps(x.Version, 2)
	})
	for r := range needed {
		for _, u := range r.Uses {
			met[u.Of] = true
		}
	}
	for e := range met {
		e.free(needed)
	}
	return len(needed)
}

// free frees what made versions, but for what is needed.
func (e *Entry) free(needed map[*Record]bool) {
	first := len(e.Made)
	for i, r := range e.Made {
		if !needed[r] {
			e.Made[i] = nil
		} else {
			first = min(first, i)
		}
	}
	e.Made = append([]*Record(nil), e.Made[first:]...)
	e.freed += uint32(first)
}

// Rounds is the second copies of a job.
type Rounds struct {
	Now     *Round                    // nil if none is under way
	Looked  time.Time                 // whether one is due
	Pending map[*Entry][]graph.TaskID // tasks that will write a datum, in their order
	Flights map[uint64]*Copying       // by the number of the task: above all that programs have
	Last    uint64
	Turn    int
}

// Submitted notes what a task will write.
func (r *Rounds) Submitted(t *graph.Task, data *DataIndex) {
	for k := range t.Len() {
		if o := t.Operand(k); o.Mode&graph.Out != 0 && First(t, k) {
			e := data.Of(o.Datum)
			r.Pending[e] = append(r.Pending[e], t.ID())
		}
	}
}

// Written notes that a task has written a datum.
func (r *Rounds) Written(t *graph.Task, e *Entry) {
	all := r.Pending[e]
	if i := slices.Index(all, t.ID()); i == 0 {
		r.Pending[e] = all[1:]
	} else if i > 0 {
		r.Pending[e] = slices.Delete(all, i, i+1)
	}
}

// Leaves returns how many tasks up to a cut will write a datum.
func (r *Rounds) Leaves(e *Entry, cut graph.TaskID) (n uint32) {
	for _, id := range r.Pending[e] {
		if id <= cut {
			n++
		}
	}
	return n
}

// Copying is a datum that is being copied.
type Copying struct {
	Taken
	Open   int // nodes that have not answered
	Failed bool
	Nodes  map[uint64]Taker // by the number of the task
}

// Taker is a node that takes a copy, and what it must have meanwhile.
type Taker struct {
	Node int
	Uses []*Entry
}
