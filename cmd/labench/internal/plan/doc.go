// Package plan counts what a program's tasks need on the nodes of a cluster: which node executes which task,
// which bytes have to move there, and the critical path. It executes nothing. Package exec/sim predicts times
// as well, within a few percent, but takes longer.
//
// A [Runtime] receives the tasks that algorithms submit. It assigns them to nodes as a cluster.Driver with
// Options.Owner and Stay does, and records which node has which version of each value. So it works for every
// algorithm without change.
package plan
