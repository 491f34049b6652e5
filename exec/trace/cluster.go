package trace

import "time"

// Cluster is the state of a cluster's tasks and nodes, as monitor.Options.Cluster returns it.
type Cluster struct {
	Counts Counts // of all jobs so far
	Again  int64  // tasks executed again to recover lost data, which Counts does not have
	Nodes  []Node // the driver first
}

// Node is the state of a node of a cluster, as the driver knows it: figures that the node counts itself are the latest
// that the driver has received.
type Node struct {
	Name   string
	Lost   bool
	Since  time.Duration // how long ago it joined, or was lost if Lost is set
	Losses int           // how often a node of this name was lost before

	Workers int
	Busy    int   // workers that execute tasks
	Has     int   // tasks sent to it that have not ended
	Waiting int   // how many of these wait for operands
	Sent    int64 // tasks sent so far
	Ended   int64 // tasks ended there, in any way

	Held, Memory int64         // bytes of operands on it, and their limit: 0 if there is none
	In, Out      int64         // bytes that it fetched from other nodes, and they from it
	Work, Starve time.Duration // its workers' time in tasks, and without a task while tasks waited for operands
	Silent       time.Duration // time since the driver's latest query, if it has not answered; otherwise 0
	Waits        []string      // what it waits for, a line each, the longest wait first
}
