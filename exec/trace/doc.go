// Package trace records what ran where and when: one [Event] for each attempt
// at a task, in a buffer per worker, and a [Summary] of it.
package trace
