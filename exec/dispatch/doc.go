// Package dispatch holds the scheduling policies: which ready task a worker
// takes next. One file per policy.
//
// A [Policy] is a plain data structure without goroutine, clock or lock; the
// runtime, the simulator and the tests call it one operation at a time.
package dispatch
