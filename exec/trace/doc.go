// Package trace records what ran where and when, and shows it.
//
//	events := trace.Recorder{Dependencies: true}
//	e, err := la.NewEngine(la.Options{Trace: &events})
//	…
//	r := events.Recording()
//	r.WriteReport(os.Stdout, 80) // times by version, why workers were idle, the critical path
//	r.WriteChrome(file)          // for ui.perfetto.dev
//
// A [Recorder] holds an [Event] for each attempt at a task, and for each share
// that members of a gang have in it, in a buffer per worker, and if asked the
// edges between tasks. What it has collected is a
// [Recording], which is condensed by Summary, Idle, Parallelism and
// CriticalPath and written for Paraver, for Chrome and Perfetto, and for
// graphviz.
package trace
