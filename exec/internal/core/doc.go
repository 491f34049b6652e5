// Package core makes the decisions of a program that runs on several nodes: which node gets which
// task and when, from which node it fetches its operands, which node has which version of a datum,
// and which tasks compute lost data again.
//
// The package is pure. Callers pass events and times in, and get decisions back. It starts no
// goroutine, reads no clock and sends no message. Only [Gate] has a lock, because the workers of a
// live node call it.
//
// exec/cluster drives a [Scheduler] and a [Directory] in real time, beside its own graph. exec/sim
// drives a [Core], which combines them, in virtual time.
//
// # Files, from the bottom up
//
//   - lost: the error for data that are lost for good
//   - choices: the options that select a policy
//   - table, nodeset, dataindex: a map by number, a set of nodes, the entries by datum
//   - offer: what a node can execute
//   - window: how many tasks a node has at a time
//   - paths: which nodes cannot fetch from which others
//   - directory: which nodes have which version of a datum
//   - spread: the tree along which a version spreads
//   - lineage: which tasks compute a version again
//   - memory: the nodes' caps on memory
//   - replicas: when replicas are taken
//   - supply: from which node a node fetches a version
//   - gate: tasks that wait for the runtime of their node
//   - experience: how long tasks and transfers take
//   - match: which nodes can execute a task
//   - owner: which node owns a datum of a layout
//   - nodes: the tasks that each node has
//   - scheduler: which node gets which task
//   - flights: the life of a task on its node
//   - groups: tasks that begin together on several nodes
//   - recall: moving tasks that have not begun to a node without work
//   - reconstruction: the tasks that compute lost data again
//   - why: explanations for people
//   - core: all of the above for a simulation
//   - recovery: a core that loses nodes
package core
