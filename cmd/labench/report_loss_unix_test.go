//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/cmd/labench/internal/explain"
	"github.com/tessera-la/tessera/cmd/labench/internal/node"
	"github.com/tessera-la/tessera/cmd/labench/internal/ops"
	"github.com/tessera-la/tessera/internal/cli"
)

// TestReportAfterLoss: of two agents one is killed in the middle of the second of three runs. What the
// report says of nodes, bytes and versions is so.
func TestReportAfterLoss(t *testing.T) {
	var agents []*exec.Cmd
	first := ""
	for range 2 {
		args := []string{"agent", "--listen", "127.0.0.1:0", "--workers", "1", "--node-timeout", detection.String()}
		if first != "" {
			args = append(args, "--peers", first)
		}
		c, address := process(t, args...)
		if agents = append(agents, c); first == "" {
			first = address
		}
	}
	f := node.ClusterFlags{Flags: node.Flags{Name: "driver", Peers: []string{first}, Timeout: detection}, Agents: 2, Idle: true, Distributed: true}
	d, leave, err := f.Drive(context.Background(), &cli.App{Out: io.Discard, Err: io.Discard}, 1, nil, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := leave(); err != nil {
			t.Error(err)
		}
	}()
	asked, over := 0, make(chan struct{})
	nodes := func() []bench.Node {
		all := ops.Usage(d)
		if asked++; asked == 3 { // the second run begins
			tasks := func(all []bench.Node) (n int) {
				for _, x := range all[1:] {
					for _, k := range x.Tasks {
						n += k
					}
				}
				return n
			}
			before := tasks(all)
			go func() {
				defer close(over)
				for tasks(ops.Usage(d)) < before+100 {
					time.Sleep(time.Millisecond)
				}
				end(agents[1])
			}()
		}
		return all
	}
	s := bench.Spec{Problem: bench.Problem{Op: "cholesky", N: 1500, NB: 100},
		Remote: bench.Remote{Runtime: d, Distributed: true, Owner: f.ByOwner(), Idle: true, Nodes: nodes, Speeds: func() []float64 { return f.Speeds(d) }},
		Repeat: 3,
		Warmup: -1,
		Verify: true,
		NoPeak: true}
	r, err := bench.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	<-over
	var out bytes.Buffer
	explain.NewNodesAccount(s, r).Explain(r.Cluster)
	if err := ops.Print(&cli.App{Out: &out, Err: io.Discard}, s.WithDefaults(), r); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"2 nodes with 2 workers at first, 1 node with 1 worker in the end",
		"what the layout needs at least is not known: ", "was lost meanwhile, and others had its tiles",
		"which is lost, does not count",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if strings.Contains(text, "that this layout needs at least") {
		t.Error("it says what the layout of two nodes needs")
	}
	for _, n := range r.Nodes {
		for _, x := range n.Ran {
			if x.Op == "" {
				t.Errorf("%s has executed tasks of no op: %+v", n.Name, x)
			}
		}
	}
	if !regexp.MustCompile(`(?m)^versions +op`).MatchString(out.String()) || r.Cluster.Moved == 0 || !r.Passed {
		t.Errorf("passed is %t, and %d bytes have moved", r.Passed, r.Cluster.Moved)
	}
	if t.Failed() {
		t.Logf("%s", &out)
	}
}
