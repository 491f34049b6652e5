package explain

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/internal/report"
)

// onNodes is two runs of 1 s on three agents, with a driver that is idle. The first agent was
// in tasks all the time, and the second one waited for it; the third has twice the workers and
// half of its time to spare.
func onNodes() (bench.Spec, bench.Result) {
	ran := func(tasks int, seconds float64) []bench.Ran {
		return []bench.Ran{{Op: "gemm/f64", Version: "avx512", Tasks: tasks, Seconds: seconds}}
	}
	nodes := []bench.Node{
		{Name: "laptop", Workers: 1, In: 1 << 20},
		{Name: "a-node-with-a-long-name", Workers: 1, Tasks: map[string]int{"gemm/f64": 1000}, Ran: ran(1000, 2), Busy: 2, Share: 0.4, Out: 3 << 30, Peak: 1 << 30},
		{Name: "node2", Workers: 1, Tasks: map[string]int{"gemm/f64": 400}, Ran: ran(400, 0.8), Busy: 0.8, Starving: 0.7, Share: 0.2, In: 3 << 30,
			Flows: []bench.Flow{{From: "a-node-with-a-long-name", Matrix: "A", Values: 9, Bytes: 3 << 30, Seconds: 1.5, Waiting: 0.7}}},
		{Name: "node3", Workers: 2, Tasks: map[string]int{"gemm/f64": 1000}, Ran: ran(1000, 2), Busy: 2, Share: 0.4},
		{Name: "node4", Workers: 2, Lost: true, Gone: true},
	}
	return bench.Spec{Remote: bench.Remote{Idle: true, Distributed: true}}, bench.Result{Nodes: nodes, Times: []time.Duration{time.Second, time.Second},
		Cluster: &bench.Cluster{Moved: 3<<30 + 1<<20, Least: 2 << 30, Path: 0.1, PathTasks: 50}}
}

// TestNodesAccount: what is lost on nodes adds up, and is told in 80 columns.
func TestNodesAccount(t *testing.T) {
	s, r := onNodes()
	x := NewNodesAccount(s, r)
	want := map[lossKind]time.Duration{lossOperands: 700 * ms, lossUneven: 500*ms + 2*time.Second, lossIdle: 0}
	for _, l := range x.losses {
		if l.time != want[l.kind] {
			t.Errorf("%v: %v, want %v", l.kind, l.time, want[l.kind])
		}
	}
	if x.workers != 4 || x.time != 8*time.Second || x.busy+x.lost() != x.time {
		t.Errorf("%d workers, %v, %v in tasks, and %v lost", x.workers, x.time, x.busy, x.lost())
	}
	var b strings.Builder
	x.Text(&b, report.Paint{})
	labtest.Narrow(t, "nodes", b.String())
	labtest.Golden(t, "nodes", b.String())
	x.Explain(r.Cluster)
	sum := 0.0
	for _, l := range r.Cluster.Losses {
		sum += l.Share
	}
	if math.Abs(sum+x.share(x.busy)-1) > 1e-9 || len(r.Cluster.Why) != 3 {
		t.Errorf("%+v", r.Cluster)
	}
	// What is idle beside a long critical path, and where nothing is known of one.
	r.Nodes[1].Busy, r.Nodes[2].Busy, r.Nodes[2].Starving, r.Nodes[3].Busy = 1, 1, 0, 2
	for path, want := range map[float64]string{0.9: "The critical path alone takes 900 ms of a run's 1.00 s", 0.2: "It is not the critical path", 0: "--distributed makes them"} {
		r.Cluster.Path = path
		x = NewNodesAccount(s, r)
		if v := x.verdict(); len(v) != 2 || !strings.Contains(v[1], want) || !strings.Contains(v[0], "50 % of the time, which is the work of 2.0 that") {
			t.Errorf("%q, want %q", v, want)
		}
	}
}
