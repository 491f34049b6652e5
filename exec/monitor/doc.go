// Package monitor shows a running runtime on a web page: its progress, each worker's tasks, the
// versions that run, and the memory of the process. It only reads a trace.Recorder.
//
//	events := trace.Recorder{Limit: 10_000}
//	m, err := monitor.Listen("127.0.0.1:0", &events, monitor.Options{})
//	defer m.Close()
//	fmt.Println(m.URL())
//	e, err := la.NewEngine(la.Options{Trace: &events, Progress: m.Progress})
//	…
//	m.Describe(monitor.Activity{Title: "cholesky", Run: 1, Runs: 5})
//	err = chol.Factorize(a)
//
// All of that is optional: without Describe the page has no title and no runs, and without Progress
// it does not know the number of tasks, and shows no remaining time.
//
// Its memory is bounded: Limit events of each worker, five minutes of samples and the latest runs.
// An open page asks twice a second.
//
// For a cluster it shows each node, too: whether it is there, its tasks, memory and transfers, and
// what it waits for.
//
//	d, err := cluster.NewDriver(cluster.Options{Trace: &events, …})
//	m, err := monitor.Listen("127.0.0.1:0", &events, monitor.Options{Cluster: d.Watch})
//
// The page is in the binary. It is served on loopback only, unless [Options.Remote] allows other
// interfaces; it has neither passwords nor encryption.
package monitor
