// Package core decides for a program on several nodes: which node gets which task and when, from
// whom it has its operands, who has what, and what is made again when a node is lost. It is pure:
// events and times go in, decisions come out. There is no goroutine, clock or message; of locks only
// the gate has one, as workers of a live node meet there.
//
// exec/cluster drives it live, by a scheduler and the directory beside its own graph; exec/sim drives
// a [Core], all of it together, in virtual time.
//
// # Files, from the bottom up
//
// lost (an error), choices (options), table (a map by numbers), nodeset, dataindex, able (what a node
// can execute), pace (how many tasks a node has), paths (between nodes), directory (who has what),
// lineage (how to make it again), memory (what nodes have room for), durable (when second copies are
// taken), supply (from whom a node has what), gate (tasks that wait for a node's runtime), costs (how
// long things take), match (who can execute what), owner, seats (what nodes have), scheduler (which
// node gets which task), flights (tasks under way), recall (and which goes to another one), remake
// (what is lost is made again), why (in words), core (all of these) and losses (of nodes there).
package core
