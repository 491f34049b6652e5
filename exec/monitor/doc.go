// Package monitor shows a runtime at work on a web page: how far it is, what
// each worker does and did, which versions run, and how much memory the process
// has. It reads what a trace.Recorder holds and never steers.
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
// Nothing has to be said of that: without Describe the page has no title and no runs, and
// without Progress it does not know how many tasks there will be, and says no time left.
//
// What is kept is bounded: Limit events of each worker, five minutes of samples and the
// latest runs. The page asks twice a second while somebody looks at it.
//
// Of a cluster it shows each node, too: whether it is there, its tasks, memory and transfers,
// and what it waits for.
//
//	d, err := cluster.NewDriver(cluster.Options{Trace: &events, …})
//	m, err := monitor.Listen("127.0.0.1:0", &events, monitor.Options{Cluster: d.Watch})
//
// The page is in the binary. It is served on loopback only, unless
// [Options.Remote] allows other interfaces; it has neither passwords nor
// encryption.
package monitor
