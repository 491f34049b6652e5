// Package trace records what ran where and when: one [Event] for each attempt
// at a task, in a buffer per worker, and a [Summary] of it.
//
//	var events trace.Recorder
//	e, err := la.NewEngine(la.Options{Trace: &events})
//	…
//	s := events.Summary() // calls and times by version, and how busy each worker was
package trace
