package cluster

import (
	"errors"
	"time"
)

// Usage is what a node has done for a driver.
type Usage struct {
	Node    string
	Parent  string // the node above it: see Driver.Below; empty if the driver gives it tasks
	Program string // Options.Program of the node
	Jobs    int    // jobs of other drivers, and sets of data, that it had when it joined
	Workers int
	Below   int    // workers of the nodes below it, at any depth: see Options.Parent
	Kinds   []Kind // of its workers
	Lost    bool   // it has left
	// BelowNodes is the number of nodes below it, BelowMemory the sum of their caps, 0 if one has none.
	BelowNodes  int
	BelowMemory int64
	Tasks       map[string]int // tasks that have ended well, by op …
	Ran         []Ran          // … and by version
	In, Out     int64          // bytes that it has fetched, and that others have fetched from it
	Flows       []Flow
	// Busy is the time of its workers in tasks, Starving their time without one while tasks waited for operands.
	Busy, Starving time.Duration
	Memory         int64 // its cap, 0 if it has none …
	Peak           int64 // … and the most bytes of operands that it had
}

// Ran is the number of tasks of an op and version that have ended well, and the time of their last
// attempts. Version is empty if it is not known.
type Ran struct {
	Op, Version string
	Tasks       int
	Took        time.Duration
}

// Flow is the values of a matrix that a node has fetched from another one.
type Flow struct {
	From   string // the node that had them
	Data   string // name of the matrix; empty if it is not known
	Values int64
	Bytes  int64
	Took   time.Duration // sum over fetches, several of which may be in progress at once
	Waited time.Duration // the flow's share of Starving, which fetches in progress share
}

// check returns an error if a figure of a report is negative.
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
