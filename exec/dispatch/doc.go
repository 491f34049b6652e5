// Package dispatch holds the scheduling policies: which ready task a worker takes next. One file
// per policy.
//
// A [Policy] is a plain data structure without goroutine, clock or lock; the runtime, the simulator
// and the tests call it one operation at a time. [New] makes the built-in ones; [ByScore] makes one
// from a function, and a program may implement a policy of its own.
package dispatch
