// Package plan counts what a program's tasks need on the nodes of a cluster, without executing
// any of them: which node executes which task, what has to go there, and the critical path.
// Package exec/sim answers more, within some percent, and takes longer.
//
// It goes by the program itself: a [Runtime] takes the tasks that algorithms submit, as a
// cluster.Driver with Options.Owner and Stay does, and records which node has which
// version of what. So it knows nothing of the algorithms, and need not be told of a new one.
package plan
