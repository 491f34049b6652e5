// Package calibrate measures this machine for package sim: how long the tile operations take
// on one worker alone and on all at once, out of the cache and from memory, and what a task
// costs beside that.
//
// It runs small programs, factorizations of a few tiles and first steps of large ones, and
// takes the times of their tasks apart. So operations are measured as programs use them: with
// operands that were packed before, behind one another, on pinned workers.
//
// Links between the nodes of a cluster are measured in the same way: tasks on one node read what
// a task on another one has made, and the nodes say how long the fetch took. What a message costs is the
// CPU time of a driver that has nothing else to do. How long one waits for a core is found by trial:
// small programs have to take as long in virtual time as they took (Load.fit).
package calibrate
