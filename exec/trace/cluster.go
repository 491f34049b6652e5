package trace

import "time"

// Cluster is where the tasks of a cluster's jobs stand, and its nodes: what
// monitor.Options.Cluster returns.
type Cluster struct {
	Counts Counts // of all jobs so far
	Again  int64  // tasks executed again, beside these, to make what was lost with a node
	Nodes  []Node // the driver first
}

// Node is where a node of a cluster stands. Of what it says itself the driver knows the
// latest word.
type Node struct {
	Name   string
	Lost   bool
	Since  time.Duration // that it is there, or lost
	Losses int           // how often one of this name was lost before

	Workers int
	Busy    int   // workers in tasks …
	Has     int   // tasks that were sent to it and have not ended, …
	Waiting int   // … that of these wait for operands, …
	Sent    int64 // … and those that were sent so far
	Ended   int64 // tasks that have ended there, well or not

	Held, Memory int64         // bytes of operands that it has, and its cap: 0 if it has none
	In, Out      int64         // bytes that it has fetched from others, and others from it
	Work, Starve time.Duration // its workers' time in tasks, and without one while tasks waited for operands
	Silent       time.Duration // since it was asked what it is at, if it has not answered
	Waits        []string      // what it waits for, a line each, the longest first
}
