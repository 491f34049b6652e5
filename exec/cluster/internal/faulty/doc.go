// Package faulty is a network within one process, for tests, in which nodes lose one another.
//
//	Options            delays messages; fails fetches
//	Cut, CutOneWay,    a partition between sets of nodes: both ways, one way,
//	CutValues, Heal    for values alone; and its end
//	Stall              nothing goes in or out of a node for a time
//	Crash              a node is gone, and the others see it leave
//	Draw, Play         Draw makes a schedule of these from a seed, Play executes it
//
// It keeps the promises of [transport.Transport], as TCP does: a message that cannot pass is held
// back, and lost only if the nodes see each other leave.
//
//	Send ─► link (64 messages) ─► delay ─► is the path open? ─► handler
//	                                            │ no, for Options.Timeout: both see the other one leave;
//	                                            │ messages held back are lost
//	                                            └ open again: both see the other one join
//
// All random numbers come from one seed. Each pair of nodes has its own sequence, so the fate of
// the tenth message from a to b is the same in every run, whatever other nodes send.
//
// The files, from the bottom up: state (who sees whom, and what is cut), link (messages on their way), node (the
// transport), network, schedule.
package faulty
