package cluster

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

// Copies says when agents keep second copies of what tasks have made, from which that is made
// again which a lost node alone had. They are taken while tasks go on, where there are two
// agents, and count as operands under Options.Memory: they are left out where there is no
// room, and make room for tasks. The zero value is right for most programs.
type Copies struct {
	// Off has none taken. Then the driver keeps a record of each task that has ended, some
	// hundred bytes, as long as its results count.
	Off bool
	// Records is how many records of tasks that have ended the driver keeps, beside those
	// that are in flight. 0 means as many as need an eighth of the bytes of the data, at
	// least 131072, where all agents have caps on their memory, so that it is known
	// what room there is, and otherwise no limit. When there are more, second copies of each
	// datum of the job are put on two agents, and the records before that are freed. It
	// needs room for two to four times the data; as long as there is none, records are
	// kept, and so are those of kept data that no job uses. What two agents that are lost
	// one shortly after the other had may be lost for good then.
	Records int
	// Share is the part of the time that taking copies is to need at most; 0 means 0.02
	// where all agents have caps on their memory, and otherwise that none are taken for
	// this. After so much work, one more agent gets a copy of each datum. No record is
	// freed.
	Share float64
}

// The defaults of Copies, the least work between two rounds, and what is assumed that a
// node gets of copies in a second: the rate of values with TLS on a loopback address is 0.85
// GB/s (2 cores, EPYC, 2026-11-23: docs/internals/measurements.md).
const (
	recordsMost = 1 << 17
	recordBytes = 300
	copyShare   = 0.02
	workLeast   = 250 * time.Millisecond
	copyRate    = 0.5e9
)

// effort is what a round is weighed by.
type effort struct {
	tasks  int           // that have ended since the last round began that frees records
	again  time.Duration // what was done since the last round began has taken
	agents int
	capped bool         // all have caps on their memory
	bytes  func() int64 // of all data, which may have to be copied
	many   bool         // there have been too many records
}

// due returns how many nodes are to have second copies, 0 if no round is to begin.
func (c *Copies) due(x effort) int {
	share := c.Share
	if share == 0 && x.capped {
		share = copyShare
	}
	switch {
	case c.Off || x.agents < 2:
		return 0
	case c.Records > 0 && x.tasks >= c.Records/2:
		return 2
	case c.Records == 0 && x.capped && x.tasks >= recordsMost/2 && int64(x.tasks) >= x.bytes()/8/recordBytes/2:
		return 2
	case share == 0 || x.again < workLeast:
		return 0
	}
	n := 1
	if x.many {
		n = 2
	}
	takes := float64(n) * float64(x.bytes()) / copyRate / float64(x.agents)
	if x.again.Seconds()*share < takes {
		return 0
	}
	return n
}

// round is second copies that are being taken.
type round struct {
	nodes  int             // that are to have each
	cut    graph.TaskID    // the last task before the place in the order of the program's tasks
	due    map[*entry]*due // data that have not been copied yet
	failed bool
	taken  []taken // copies on two nodes, which count when all are there
}

// due is a datum that is to be copied.
type due struct {
	version uint32 // that which the tasks up to the cut leave
	taken   bool   // it is being copied
	held    []*graph.Task
}

// taken is a copy that was taken.
type taken struct {
	of *entry
	second
}

// another returns a datum that is to have a copy of e, under a name that nobody has yet.
func (e *entry) another(name transport.Ref) *entry {
	return &entry{facts: e.facts, set: name.Job, version: 1, ref: name, copyOf: e, spare: true}
}

// apart reports whether so many nodes keep the latest version, wherever tasks are given that
// write it: of one, whether it is another one than that which has the latest itself.
func (e *entry) apart(nodes int) bool {
	if !e.keeps(e.version, nodes) {
		return false
	}
	c := e.second.copy
	return nodes > 1 || c == nil || len(c.holders) != 1 || len(e.holders) != 1 || c.holders[0] != e.holders[0]
}

// sweep frees the records that make nothing again which is needed for one of the data, and
// returns how many it has left. What two nodes keep is not made again.
func sweep(data map[*entry]bool) (left int) {
	met := map[*entry]bool{}
	needed := makers(maps.Keys(data), func(x instance) bool {
		met[x.of] = true
		return x.of.keeps(x.version, 2)
	})
	for r := range needed {
		for _, u := range r.uses {
			met[u.of] = true
		}
	}
	for e := range met {
		e.free(needed)
	}
	return len(needed)
}

// free frees what made versions, but for what is needed.
func (e *entry) free(needed map[*record]bool) {
	first := len(e.made)
	for i, r := range e.made {
		if !needed[r] {
			e.made[i] = nil
		} else {
			first = min(first, i)
		}
	}
	e.made = append([]*record(nil), e.made[first:]...)
	e.freed += uint32(first)
}

// rounds is the second copies of a job.
type rounds struct {
	now     *round                    // nil if none is under way
	looked  time.Time                 // whether one is due
	pending map[*entry][]graph.TaskID // tasks that will write a datum, in their order
	flights map[uint64]*copying       // by the number of the task: above all that programs have
	last    uint64
	turn    int
}

// submitted notes what a task will write.
func (r *rounds) submitted(t *graph.Task, data *dataIndex) {
	for k := range t.Len() {
		if o := t.Operand(k); o.Mode&graph.Out != 0 && first(t, k) {
			e := data.of(o.Datum)
			r.pending[e] = append(r.pending[e], t.ID())
		}
	}
}

// written notes that a task has written a datum.
func (r *rounds) written(t *graph.Task, e *entry) {
	all := r.pending[e]
	if i := slices.Index(all, t.ID()); i == 0 {
		r.pending[e] = all[1:]
	} else if i > 0 {
		r.pending[e] = slices.Delete(all, i, i+1)
	}
}

// leaves returns how many tasks up to a cut will write a datum.
func (r *rounds) leaves(e *entry, cut graph.TaskID) (n uint32) {
	for _, id := range r.pending[e] {
		if id <= cut {
			n++
		}
	}
	return n
}

// copying is a datum that is being copied.
type copying struct {
	taken
	open   int // nodes that have not answered
	failed bool
	nodes  map[uint64]taker // by the number of the task
}

// taker is a node that takes a copy, and what it must have meanwhile.
type taker struct {
	node int
	uses []*entry
}
