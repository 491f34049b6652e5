package trace

import "time"

// Cluster is the state of a cluster's tasks and nodes, as monitor.Options.Cluster returns it.
type Cluster struct {
	Counts Counts // of all jobs so far
	Again  int64  // further tasks, executed again to recover lost data
	Nodes  []Node // the driver first
}

// Node is the state of a node of a cluster. Its own figures are the latest that the driver has
// received.
type Node struct {
	Name   string
	Lost   bool
	Since  time.Duration // when it joined, or was lost
	Losses int           // how often a node of this name was lost before

	Workers int
	Busy    int   // workers in tasks …
	Has     int   // tasks sent to it that have not ended
	Waiting int   // of these, tasks that wait for operands
	Sent    int64 // tasks sent so far
	Ended   int64 // tasks ended there, in any way

	Held, Memory int64         // bytes of operands on it, and its limit: 0 if it has none
	In, Out      int64         // bytes fetched from others, and by others from it
	Work, Starve time.Duration // its workers' time in tasks, and without one while tasks waited for operands
	Silent       time.Duration // time since an unanswered question
	Waits        []string      // what it waits for, a line each, the longest wait first
}
