package transport

// Group is the nodes that execute a task of several ranks together, as one of them sees it: see
// cluster.SubmitGroup. The call of a version finds it in versions.Call.Local.
type Group struct {
	Number uint64   // differs from that of each other group
	Nodes  []string // by rank
	Rank   int      // of this node
	// Failed is closed when another rank has failed, or the job has ended. This rank should return then.
	Failed <-chan struct{}
}
