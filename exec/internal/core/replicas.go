package core

import (
	"maps"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
)

// Replicas are taken in rounds. A round has a cut in the order of the program's tasks: it copies
// the version of each datum that is the latest at the cut. Tasks behind the cut read versions that
// were copied or are made behind it. So once a round is complete, nothing from before its cut is
// needed to compute lost data again.
//
// A round begins for one of two reasons:
//
//   - Work: repeating what all nodes have done since the last round would take long, compared with a
//     round. Then one more node gets each version, and all records are kept. Data that are lost with
//     two nodes are computed from the beginning.
//   - Records: there are too many. Then two nodes get each version, and the records before the cut
//     are freed when the round is complete. So do all later rounds. The loss of one node loses no
//     data for good.
//
// This file is pure.

// Copies has the fields of cluster.Copies.
type Copies struct {
	Off     bool
	Records int
	Share   float64
}

// The defaults of Copies, the least work between two rounds, and the assumed bytes of replicas that
// a node receives in a second. Values with TLS on a loopback address come at 0.85 GB/s
// (docs/internals/measurements.md).
const (
	maxRecords  = 1 << 17
	recordBytes = 300
	copyShare   = 0.02
	MinExposed  = 250 * time.Millisecond
	copyRate    = 0.5e9
)

// Effort is what a round would cost and save.
type Effort struct {
	Tasks   int           // that have ended since the last round that freed records began
	Exposed time.Duration // time of the work since the last round began
	Agents  int
	Capped  bool         // all agents have caps on their memory
	Bytes   func() int64 // returns the bytes of all data, which may have to be copied
	Overdue bool         // there have been too many records before
}

// NodesDue returns how many replicas of each datum to take, 0 if no round is due.
func (c *Copies) NodesDue(x Effort) int {
	share := c.Share
	if share == 0 && x.Capped {
		share = copyShare
	}
	switch {
	case c.Off || x.Agents < 2:
		return 0
	case c.Records > 0 && x.Tasks >= c.Records/2:
		return 2
	case c.Records == 0 && x.Capped && x.Tasks >= maxRecords/2 && int64(x.Tasks) >= x.Bytes()/8/recordBytes/2:
		return 2
	case share == 0 || x.Exposed < MinExposed:
		return 0
	}
	n := 1
	if x.Overdue {
		n = 2
	}
	takes := float64(n) * float64(x.Bytes()) / copyRate / float64(x.Agents)
	if x.Exposed.Seconds()*share < takes {
		return 0
	}
	return n
}

// Round is a round of replicas in progress.
type Round struct {
	Nodes   int                     // replicas of each datum
	Cut     graph.TaskID            // the last task before the cut
	Pending map[*Entry]*PendingCopy // data that are not copied yet
	Failed  bool
	Taken   []TakenCopy // pairs of replicas, which count when the round is complete
}

// PendingCopy is a datum that has to be copied.
type PendingCopy struct {
	Version uint32        // the version at the cut
	Started bool          // nodes are copying it
	Held    []*graph.Task // tasks behind the cut that would overwrite it
}

// TakenCopy is a replica of a datum.
type TakenCopy struct {
	Of *Entry
	Replica
}

// NewReplica returns an entry for a replica of e under an unused name.
func (e *Entry) NewReplica(name transport.Ref) *Entry {
	return &Entry{Facts: e.Facts, Set: name.Job, Version: 1, Ref: name, StandsFor: e, Evictable: true}
}

// IsReplicated reports whether the latest version is on so many nodes whatever tasks write. For one
// replica, its node must differ from the only holder.
func (e *Entry) IsReplicated(nodes int) bool {
	if !e.isSafe(e.Version, nodes) {
		return false
	}
	c := e.Replica.Entry
	return nodes > 1 || c == nil || len(c.Holders) != 1 || len(e.Holders) != 1 || c.Holders[0] != e.Holders[0]
}

// FreeRecords frees the records that are not needed to compute any of the data again, and returns
// the number of those left. A version on two nodes needs no record.
func FreeRecords(data map[*Entry]bool) (left int) {
	met := map[*Entry]bool{}
	needed := findMakers(maps.Keys(data), func(x Instance) bool {
		met[x.Of] = true
		return x.Of.isSafe(x.Version, 2)
	})
	for r := range needed {
		for _, u := range r.Uses {
			met[u.Of] = true
		}
	}
	for e := range met {
		e.freeMakers(needed)
	}
	return len(needed)
}

// freeMakers frees the records of e that are not needed.
func (e *Entry) freeMakers(needed map[*Record]bool) {
	first := len(e.Makers)
	for i, r := range e.Makers {
		if !needed[r] {
			e.Makers[i] = nil
		} else {
			first = min(first, i)
		}
	}
	e.Makers = append([]*Record(nil), e.Makers[first:]...)
	e.forgotten += uint32(first)
}

// Rounds is the state of a job's replicas.
type Rounds struct {
	Current   *Round                    // nil if no round is in progress
	LastCheck time.Time                 // when the job last checked whether a round is due
	Writers   map[*Entry][]graph.TaskID // by datum: tasks that will write it, in their order
	Copying   map[uint64]*Copying       // by the number of the copying task, which is above all numbers of programs
	LastID    uint64                    // the last number of a copying task, without its high bits
	LastNode  int                       // nodes take turns
}

// NoteSubmitted notes what a task will write.
func (r *Rounds) NoteSubmitted(t *graph.Task, data *DataIndex) {
	for k := range t.Len() {
		if o := t.Operand(k); o.Mode&graph.Out != 0 && IsFirstWrite(t, k) {
			e := data.Of(o.Datum)
			r.Writers[e] = append(r.Writers[e], t.ID())
		}
	}
}

// NoteWritten notes that a task has written a datum.
func (r *Rounds) NoteWritten(t *graph.Task, e *Entry) {
	all := r.Writers[e]
	if i := slices.Index(all, t.ID()); i == 0 {
		r.Writers[e] = all[1:]
	} else if i > 0 {
		r.Writers[e] = slices.Delete(all, i, i+1)
	}
}

// WritesUpTo returns how many tasks up to a cut will still write a datum.
func (r *Rounds) WritesUpTo(e *Entry, cut graph.TaskID) (n uint32) {
	for _, id := range r.Writers[e] {
		if id <= cut {
			n++
		}
	}
	return n
}

// Copying is a replica that nodes are taking.
type Copying struct {
	TakenCopy
	Open   int // nodes that have not answered
	Failed bool
	Nodes  map[uint64]Taker // by the number of the copying task
}

// Taker is a node that takes a replica, and the data that it must keep meanwhile.
type Taker struct {
	Node int
	Uses []*Entry
}
