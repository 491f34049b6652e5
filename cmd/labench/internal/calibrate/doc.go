// Package calibrate measures this machine for package sim: how long the tile operations take on one worker
// alone and on all at once, with operands in the cache and in memory, and the overhead of a task.
//
// It runs small programs (factorizations of a few tiles, and first steps of large ones) and collects the times
// of their tasks. So operations are measured as programs use them: one after the other, with packed operands,
// on pinned workers.
//
// Links between the nodes of a cluster are measured in the same way: tasks on one node read what a task on
// another node has written, and the nodes report how long the fetch took. The cost of a message is the CPU time
// of a driver that has nothing else to do. The waiting time for a core is found by trial: small programs have
// to take as long in virtual time as they took (Load.fit).
package calibrate
