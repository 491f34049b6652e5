package cluster

import (
	"errors"
	"time"
)

// Usage is what a node has done for a driver.
type Usage struct {
	Node    string
	Program string // Options.Program of the node
	Jobs    int    // of other drivers, and sets of data, that it had when it joined
	Workers int
	Below   int    // workers of the nodes below it, and below these: see Options.Parent
	Kinds   []Kind // of its workers
	Lost    bool   // it is not there any more
	// BelowNodes is how many nodes there are below it, BelowMemory the sum of their caps, 0 if
	// one of them has none.
	BelowNodes  int
	BelowMemory int64
	Tasks       map[string]int // that have ended well, by op …
	Ran         []Ran          // … and by version
	In, Out     int64          // bytes that it has fetched from others, and others from it
	Flows       []Flow
	// Busy is its workers' time in tasks, Starving that without one while tasks waited
	// for operands.
	Busy, Starving time.Duration
	Memory         int64 // its cap, 0 if it has none …
	Peak           int64 // … and the bytes of the most operands that it had
}

// Ran is tasks of an op that have ended well, and the time that their last attempts took.
// Version is empty if it is not known.
type Ran struct {
	Op, Version string
	Tasks       int
	Took        time.Duration
}

// Flow is values of a matrix that a node has fetched from another one.
type Flow struct {
	From   string // the node that had them
	Data   string // name of the matrix; empty if it is not known
	Values int64
	Bytes  int64
	Took   time.Duration // sum over fetches, of which several are under way at once
	Waited time.Duration // part of Starving: each fetch under way has a part of it
}

// check returns what makes no sense in the figures of a node.
func (m *ended) check() error {
	bad := m.Peak < 0 || m.Busy < 0 || m.Starving < 0
	for _, e := range m.Ends {
		bad = bad || e.Took < 0 || e.Worker < 0
		for _, t := range e.Before {
			bad = bad || t.Took < 0 || t.Worker < 0
		}
		for _, c := range e.Fetched {
			bad = bad || c.Bytes < 0 || c.Took < 0
		}
	}
	for _, f := range m.Flows {
		bad = bad || min(f.Values, f.Bytes) < 0 || min(f.Took, f.Waited) < 0
	}
	for _, c := range m.Copies {
		bad = bad || c.Bytes < 0 || c.Took < 0
	}
	if bad {
		return errors.New("with figures below 0")
	}
	return nil
}

type (
	ranKey  struct{ op, version string }
	flowKey struct{ from, data string }
)
