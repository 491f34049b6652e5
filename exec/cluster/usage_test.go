package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
)

// ring has four data of two owners updated, round after round, each by a task that reads the next
// one, and so what the other node has made. Tasks sleep, in microseconds.
func ring(t *testing.T, n *nodes, rounds int, sleep int64) {
	t.Helper()
	j := n.NewJob(context.Background())
	data := make([]graph.Datum, 4)
	for i := range data {
		data[i] = graph.Datum{Value: new(number), Bytes: 8, Owner: int32(i % 2), Name: "A", Key: graph.Key{Matrix: 7, I: int32(i)}}
		data[i].I = int32(i)
	}
	for range rounds {
		for i := range data {
			s := graph.Spec{Op: n.op, Params: &mix{Writes: 1, Reads: 3, Sleep: sleep}, Operands: []graph.Operand{{Datum: &data[i], Mode: graph.InOut}, {Datum: &data[(i+1)%4], Mode: graph.In}}}
			if _, err := j.Submit(&s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestUsage: what nodes have done is known by op and version, and what went from one to
// another by the name of the matrix.
func TestUsage(t *testing.T) {
	leaves(t)
	n := start(t, 2, func(o *cluster.Options) { o.Idle, o.Owner = true, true })
	const rounds = 20
	ring(t, n, rounds, 100)
	all := n.Usage()
	var in, out int64
	for _, u := range all {
		in, out = in+u.In, out+u.Out
	}
	if in == 0 || in != out {
		t.Errorf("%d bytes came in, %d went out", in, out)
	}
	tasks := 0
	for k, u := range all[1:] {
		if len(u.Ran) != 1 || u.Ran[0].Op != "mix" || u.Ran[0].Version != "go" || u.Ran[0].Took <= 0 || u.Ran[0].Tasks == 0 {
			t.Fatalf("%s ran %+v", u.Node, u.Ran)
		}
		tasks += u.Ran[0].Tasks
		var waited time.Duration
		for _, f := range u.Flows {
			if f.Data != "A" || f.Bytes != 8*f.Values || f.From == u.Node {
				t.Errorf("%s: %+v", u.Node, f)
			}
			waited += f.Waited
		}
		// From the driver at first, and then what the other one has made.
		if len(u.Flows) != 2 || u.Flows[0].From != all[2-k].Node || u.Flows[0].Values == 0 || waited == 0 || waited > u.Starving {
			t.Errorf("%s has fetched %+v and waited %v", u.Node, u.Flows, u.Starving)
		}
	}
	if tasks != 4*rounds {
		t.Errorf("%d tasks were executed", tasks)
	}
	if len(all[0].Ran) != 0 || all[0].Out == 0 {
		t.Errorf("the driver: %+v", all[0])
	}
}
