// Package faulty is a network of one process in which nodes lose one another, for tests.
//
//	Options            delays messages; fails fetches
//	Cut, Heal          a partition between sets of nodes, and its end
//	Stall              nothing goes in or out of a node for a time
//	Crash              a node is gone, and the others see it leave
//	Draw, Play         a schedule of these from a seed, and its performance
//
// It keeps what [transport.Transport] promises, as TCP and what is above it do: what cannot
// pass is held back, and lost only if nodes see each other leave.
//
//	Send ─► link (64 messages) ─► delay ─► is the way open? ─► handler
//	                                            │ no, for Options.Timeout: both see the other one leave;
//	                                            │ what is held back is lost
//	                                            └ open again: both see the other one join
//
// All that is random comes from one seed. Each pair of nodes has a sequence of its own: the
// fate of the tenth message from a to b is the same in every run, whatever others send.
package faulty
