// Package trace records when and where tasks ran, and shows it.
//
//	events := trace.Recorder{Dependencies: true}
//	e, err := la.NewEngine(la.Options{Trace: &events})
//	…
//	r := events.Recording()
//	r.WriteReport(os.Stdout, 80) // times by version, why workers were idle, the critical path
//	r.WriteChrome(file)          // for ui.perfetto.dev
//
// A [Recorder] holds an [Event] for each attempt at a task, and for each share of members of a gang
// in it, in a buffer per worker, and optionally the edges between tasks. Its data is a [Recording].
// Summary, Idle, Parallelism and CriticalPath summarize a Recording; others write it for Paraver,
// for Chrome and Perfetto, and for graphviz.
package trace
