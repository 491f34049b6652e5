// Package faulty puts faults between the nodes of any transport, to test what has to
// stand them.
//
//	Options            loses, doubles, delays, reorders and damages messages; fails fetches
//	Cut, Heal          a partition between sets of nodes, and its end
//	Stall              nothing goes in or out for a time, then all that was held back
//	Crash, Restart     a node is gone and the others see it leave; one with its name begins
//	Draw, Play         a schedule of these from a seed, and its performance
//
// All that is random comes from one seed. Each pair of nodes has a sequence of its own: the
// fate of the tenth message from a to b is the same in every run, whatever others send.
//
// Messages of a node to itself are left alone. A [Network] with faults does not keep what
// [transport.Transport] promises: damaged messages come as they are, so that who is above
// has to notice. Package reliable does.
package faulty
